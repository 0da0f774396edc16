"""The guest's end of the bridge: frames over two file descriptors.

The specification is the package documentation of internal/bridge in the host's source. Either descriptor may be a
socket or a pipe, and both may be the same one. Reading and writing are for many threads, each a whole frame.
"""

from __future__ import annotations

import errno
import fcntl
import re
import resource
import struct
import threading
from os import close, read, set_blocking, write
from typing import Any, NamedTuple

from . import own

__builtins__ = own.BUILTINS  # type: ignore[assignment]

VERSION = 1

HELLO, ANALYSE, FACTS, ARM, RUN, RESULT, DISPLAY, ASK, CALL, PROGRESS, CANCEL = range(1, 12)

MAX_CHUNK = 64 << 10
MAX_FRAME = 64 << 20
MAX_OPEN = 256

_MORE = 1
_HEADER = struct.Struct(">BBHII")
_LENGTH = struct.Struct(">I")
# Bound when the module is loaded: a program may replace the attributes of os and json, and the result must still go out.
_encode = own.encoder.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_decode = own.decoder.JSONDecoder().decode
_write_surrogates_out = re.compile("[\ud800-\udfff]").sub


class ProtocolError(Exception):
    """The stream breaks the rules, or ended inside a frame. It is dead for good."""


class Frame(NamedTuple):
    """One message: the head is a JSON object, the body bytes without interpretation."""

    kind: int
    id: int
    head: dict[str, Any]
    body: bytes


class _Partial(NamedTuple):
    kind: int
    data: bytearray


class Stream:
    """Frames over a pair of descriptors, which the stream owns."""

    def __init__(self, read_fd: int, write_fd: int, max_frame: int = MAX_FRAME) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._max = max_frame
        self._open: dict[int, _Partial] = {}
        self._held = 0
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._torn = False  # a frame was begun and not ended: what follows would be taken for the rest of it

    def read_frame(self) -> Frame | None:
        """Block until a frame is complete. None means that the host closed the stream between two frames."""
        with self._reading:
            return self._next_frame()

    def _next_frame(self) -> Frame | None:
        while True:
            header = self._read(_HEADER.size)
            if not header and not self._open:
                return None
            if len(header) < _HEADER.size:
                raise ProtocolError("ends inside a frame")
            frame = self._read_chunk(*_HEADER.unpack(header))
            if frame is not None:
                return frame

    def write_frame(self, kind: int, frame_id: int, head: dict[str, Any], body: bytes = b"") -> None:
        """Write one frame whole."""
        encoded = _json(head)
        if 4 + len(encoded) + len(body) > self._max:
            raise ValueError(f"frame of {len(encoded) + len(body)} bytes is over the limit of {self._max}")
        data = memoryview(b"".join((_LENGTH.pack(len(encoded)), encoded, body)))
        with self._writing:
            if self._torn:
                raise BrokenPipeError(errno.EPIPE, "the last frame was not written whole")
            self._torn = True
            while True:
                chunk, data = data[:MAX_CHUNK], data[MAX_CHUNK:]
                flags = _MORE if data else 0
                self._write(_HEADER.pack(VERSION, kind, flags, frame_id, len(chunk)) + chunk)
                if not data:
                    break
            self._torn = False

    def close(self) -> None:
        """Close both descriptors; errors do not matter any more."""
        for fd in {self._read_fd, self._write_fd}:
            try:
                close(fd)
            except OSError:
                pass

    def move_away(self) -> None:
        """Move the descriptors to high numbers, closed on exec.

        Programs write to small numbers by mistake, and some close or scan them. The limit on open files bounds only
        numbers that are handed out later, so it may be lowered afterwards.
        """
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        lowest = max(3, (1024 if soft == resource.RLIM_INFINITY else min(soft, 1024)) - 8)
        moved = {fd: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest) for fd in {self._read_fd, self._write_fd}}
        self.close()
        self._read_fd, self._write_fd = moved[self._read_fd], moved[self._write_fd]
        set_blocking(self._read_fd, True)
        set_blocking(self._write_fd, True)

    def _read_chunk(self, version: int, kind: int, flags: int, frame_id: int, size: int) -> Frame | None:
        if version != VERSION or not HELLO <= kind <= CANCEL or flags & ~_MORE or size > MAX_CHUNK:
            raise ProtocolError(f"bad header: version {version}, kind {kind}, flags {flags}, {size} bytes")
        partial = self._partial(frame_id, kind, size)
        payload = self._read(size)
        if len(payload) < size:
            raise ProtocolError("ends inside a chunk")
        partial.data.extend(payload)
        if flags & _MORE:
            return None
        del self._open[frame_id]
        self._held -= len(partial.data)
        return _split(kind, frame_id, partial.data)

    def _partial(self, frame_id: int, kind: int, size: int) -> _Partial:
        partial = self._open.get(frame_id)
        if partial is None:
            if len(self._open) >= MAX_OPEN:
                raise ProtocolError("too many unfinished frames")
            partial = self._open[frame_id] = _Partial(kind, bytearray())
        elif partial.kind != kind:
            raise ProtocolError(f"frame {frame_id} changes its kind")
        elif size == 0:
            raise ProtocolError("empty continuation")
        if self._held + size > self._max:
            raise ProtocolError("too many bytes in unfinished frames")
        self._held += size
        return partial

    def _read(self, size: int) -> bytes:
        """Read exactly size bytes, or fewer at the end of the stream. read() itself retries after a signal (PEP 475)."""
        first = read(self._read_fd, size)
        if len(first) == size or not first:
            return first
        parts = [first]
        missing = size - len(first)
        while missing:
            part = read(self._read_fd, missing)
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[write(self._write_fd, view) :]


def _json(head: dict[str, Any]) -> bytes:
    """Encode a head. JSON carries no lone surrogate, and every string of a program may hold some: they are written out.

    A reader sees \\udcff as a program's own stderr would show it.
    """
    text: str = _encode(head)
    try:
        return text.encode()
    except UnicodeEncodeError:
        text = _write_surrogates_out(lambda found: f"\\\\u{ord(found[0]):04x}", text)
        return text.encode()


def _split(kind: int, frame_id: int, data: bytearray) -> Frame:
    if len(data) < _LENGTH.size:
        raise ProtocolError(f"frame of {len(data)} bytes")
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    if end > len(data):
        raise ProtocolError("head is longer than its frame")
    try:
        head = _decode(data[_LENGTH.size : end].decode())
    except (ValueError, RecursionError) as exc:
        raise ProtocolError(f"head is not JSON: {exc}") from None
    if not isinstance(head, dict):
        raise ProtocolError("head is not a JSON object")
    with memoryview(data) as whole:
        return Frame(kind, frame_id, head, whole[end:].tobytes())
