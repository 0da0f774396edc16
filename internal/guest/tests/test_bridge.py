"""The codec, against its own other end and against streams that break the rules."""

from __future__ import annotations

import os
import signal
import struct
import threading
import unittest

from gearbox_guest import bridge


class Wire:
    """A pipe with a stream at its reading end and raw bytes at the other."""

    def __init__(self, *chunks: bytes, max_frame: int = bridge.MAX_FRAME) -> None:
        read_fd, self.write_fd = os.pipe()
        self.stream = bridge.Stream(read_fd, self.write_fd, max_frame)
        self.read_fd = read_fd
        if chunks:
            for chunk in chunks:
                os.write(self.write_fd, chunk)
            os.close(self.write_fd)

    def close(self) -> None:
        self.stream.close()


def chunk(
    kind: int, frame_id: int, data: bytes, more: bool = False, version: int = 1, flags: int = 0
) -> bytes:
    return struct.pack(">BBHII", version, kind, flags | more, frame_id, len(data)) + data


def payload(head: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(head)) + head + body


class TestHeads(unittest.TestCase):
    def test_what_json_cannot_carry_is_written_out(self) -> None:
        wire = Wire()
        self.addCleanup(wire.close)
        text = "a\udcffb\\\ud83d€\n\\udcff"
        wire.stream.write_frame(bridge.RESULT, 1, {"text": text, "\ud800": [text]})
        shown = "a\\udcffb\\\\ud83d€\n\\udcff"
        frame = wire.stream.read_frame()
        assert frame is not None
        self.assertEqual(frame.head, {"text": shown, "\\ud800": [shown]})


class TestStream(unittest.TestCase):
    def wire(self, *chunks: bytes, max_frame: int = bridge.MAX_FRAME) -> Wire:
        wire = Wire(*chunks, max_frame=max_frame)
        self.addCleanup(wire.close)
        return wire

    def test_frames_arrive_as_they_were_sent(self) -> None:
        for size in (0, 1, bridge.MAX_CHUNK - 20, bridge.MAX_CHUNK, 3 * bridge.MAX_CHUNK + 1):
            with self.subTest(size=size):
                wire = self.wire()
                head, body = (
                    {"text": "é\U0001f600", "n": [1, None, 2.5]},
                    bytes(range(256)) * (size // 256 + 1),
                )
                writer = threading.Thread(
                    target=wire.stream.write_frame, args=(bridge.CALL, 2**32 - 1, head, body[:size])
                )
                writer.start()
                self.assertEqual(wire.stream.read_frame(), (bridge.CALL, 2**32 - 1, head, body[:size]))
                writer.join()

    def test_interleaved_chunks_are_joined_by_id(self) -> None:
        one, two = payload(b'{"a":1}', b"first"), payload(b'{"b":2}', b"second")
        wire = self.wire(
            chunk(bridge.ARM, 1, one[:6], more=True),
            chunk(bridge.RUN, 2, two[:2], more=True),
            chunk(bridge.ARM, 1, one[6:9], more=True),
            chunk(bridge.RUN, 2, two[2:]),
            chunk(bridge.ARM, 1, one[9:]),
        )
        self.assertEqual(wire.stream.read_frame(), (bridge.RUN, 2, {"b": 2}, b"second"))
        self.assertEqual(wire.stream.read_frame(), (bridge.ARM, 1, {"a": 1}, b"first"))
        self.assertIsNone(wire.stream.read_frame())

    def test_malformed_streams_are_refused(self) -> None:
        good = payload(b"{}")
        cases = {
            "version": chunk(bridge.RUN, 1, good, version=2),
            "kind zero": chunk(0, 1, good),
            "kind beyond the last": chunk(bridge.CANCEL + 1, 1, good),
            "flag": chunk(bridge.RUN, 1, good, flags=2),
            "size": struct.pack(">BBHII", 1, bridge.RUN, 0, 1, bridge.MAX_CHUNK + 1),
            "end in a header": chunk(bridge.RUN, 1, good)[:5],
            "end in a chunk": chunk(bridge.RUN, 1, good)[:-1],
            "end before the last chunk": chunk(bridge.RUN, 1, good, more=True),
            "no room for a head": chunk(bridge.RUN, 1, b"\0\0"),
            "head longer than its frame": chunk(bridge.RUN, 1, b"\0\0\0\x03{}"),
            "no JSON": chunk(bridge.RUN, 1, payload(b"{")),
            "not UTF-8": chunk(bridge.RUN, 1, payload(b'{"a":"\xff"}')),
            "no object": chunk(bridge.RUN, 1, payload(b"[]")),
            "deep": chunk(bridge.RUN, 1, payload(b'{"a":' + b"[" * 60_000)),
            "kind changes": chunk(bridge.RUN, 1, good[:4], more=True) + chunk(bridge.ARM, 1, good[4:]),
            "empty continuation": chunk(bridge.RUN, 1, good[:4], more=True)
            + chunk(bridge.RUN, 1, b"", more=True),
            "many": b"".join(chunk(bridge.RUN, n, b"x", more=True) for n in range(bridge.MAX_OPEN + 1)),
        }
        for name, data in cases.items():
            with self.subTest(name), self.assertRaises(bridge.ProtocolError):
                self.wire(data).stream.read_frame()

    def test_unfinished_frames_are_bounded_together(self) -> None:
        chunks = [chunk(bridge.RUN, n, b"x" * 40, more=True) for n in range(3)]
        with self.assertRaises(bridge.ProtocolError):
            self.wire(*chunks, max_frame=100).stream.read_frame()

    def test_a_frame_over_the_limit_is_not_sent(self) -> None:
        with self.assertRaises(ValueError):
            self.wire(max_frame=50).stream.write_frame(bridge.RUN, 1, {}, b"x" * 50)

    def test_moved_descriptors_are_high_and_closed_on_exec(self) -> None:
        wire = self.wire()
        wire.stream.move_away()
        with self.assertRaises(OSError):
            os.fstat(wire.read_fd)
        wire.stream.write_frame(bridge.RUN, 1, {})
        self.assertEqual(wire.stream.read_frame(), (bridge.RUN, 1, {}, b""))
        for fd in (wire.stream._read_fd, wire.stream._write_fd):
            self.assertGreater(fd, 100)
            self.assertFalse(os.get_inheritable(fd))


class TestTorn(unittest.TestCase):
    def test_after_a_frame_that_was_not_written_whole_nothing_is_taken_for_the_rest_of_it(self) -> None:
        wire = Wire()
        self.addCleanup(wire.close)

        class Ring(Exception):
            pass

        def ring(*_: object) -> None:
            raise Ring

        before = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with self.assertRaises(Ring):  # nobody reads, so that the pipe is full soon
            wire.stream.write_frame(bridge.CALL, 1, {}, bytes(1 << 20))
        with self.assertRaises(BrokenPipeError):
            wire.stream.write_frame(bridge.RESULT, 2, {})
