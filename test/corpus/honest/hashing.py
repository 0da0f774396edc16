"""Hashes, base64, hmac and struct."""
import base64
import binascii
import hashlib
import hmac
import struct
import uuid

message = "attack at dawn".encode()
print(hashlib.sha256(message).hexdigest())
print(hashlib.md5(message).hexdigest(), hashlib.new("sha1", message).hexdigest())
print(hmac.new(b"key", message, "sha256").hexdigest())
encoded = base64.b64encode(message)
print(encoded.decode(), base64.b64decode(encoded) == message, base64.urlsafe_b64encode(b"\xff\xfe").decode())
print(binascii.hexlify(b"\x00\xff").decode(), bytes.fromhex("deadbeef").hex(":"))
packed = struct.pack(">IhB", 4_000_000_000, -2, 255)
print(packed.hex(), struct.unpack(">IhB", packed), struct.calcsize("<3d"))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"), uuid.UUID(int=5).hex)
print(hmac.compare_digest("a", "a"), binascii.crc32(message))
