"""Compress and archive in memory."""
import gzip
import io
import zipfile
import zlib

data = b"abc" * 1000
packed = zlib.compress(data, 9)
print(len(packed) < 100, zlib.decompress(packed) == data)
print(gzip.decompress(gzip.compress(data)) == data)
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w") as archive:
    archive.writestr("a.txt", "hello")
    archive.writestr("b/c.txt", "world")
with zipfile.ZipFile(buffer) as archive:
    print(archive.namelist(), archive.read("b/c.txt").decode())
with gzip.open("data.gz", "wt") as handle:
    handle.write("line one\nline two\n")
with gzip.open("/tmp/other.gz", "wt") as handle:
    handle.write("x")
with gzip.open("data.gz", "rt") as handle:
    print([line.strip() for line in handle])
