"""The program's end of call frames: any thread and any event loop asks, one thread reads the answers.

The reader starts with the first call. It is no thread of the program: it is not waited for at the end, and no signal
handler of the program runs in it, so that none can come between two parts of a frame. A process that the program forks
has no bridge.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import itertools
import os
import weakref
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import bridge, own

__builtins__ = own.BUILTINS  # type: ignore[assignment]

if TYPE_CHECKING:
    import asyncio

# The host takes 128 calls at once. Those of one event loop wait for each other before that, and leave some to threads.
MAX_AT_ONCE = 100
# Numbers that nothing else of a run has.
_FIRST_ID = 1000

# Bound when the module is loaded: a program may replace the attributes of modules.
_getpid = os.getpid
_mask, _BLOCK, _SET = _signal.pthread_sigmask, _signal.SIG_BLOCK, _signal.SIG_SETMASK
_SIGNALS = _signal.valid_signals()

Answer = bridge.Frame | BaseException
Deliver = Callable[[Answer], None]


class ClosedError(Exception):
    """There is nobody to answer. The text says why."""


class Due:
    """An answer that a thread waits for."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        self._answer: Answer | None = None
        self._arrived = allocate_lock()
        self._arrived.acquire()

    def deliver(self, answer: Answer) -> None:
        """Have the answer. This is called once."""
        self._answer = answer
        self._arrived.release()

    def wait(self) -> bridge.Frame:
        """Block until the answer is there. A signal handler that raises ends the wait, and the call."""
        try:
            self._arrived.acquire()
        except BaseException:
            self._cancel()
            raise
        return _frame(self._answer)


class Calls:
    """Call frames over one stream."""

    def __init__(self, stream: bridge.Stream) -> None:
        self._stream = stream
        self._pid = _getpid()
        self._ids = itertools.count(_FIRST_ID)
        self._due: dict[int, Deliver] = {}
        self._starting = allocate_lock()
        self._reads = False
        self._closed = False
        self._rooms: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )

    def begin(self, head: dict[str, Any], body: bytes = b"") -> Due:
        """Ask, and let the caller wait for the answer when it likes."""
        frame_id = next(self._ids)
        due = Due(lambda: self._cancel(frame_id))
        self._send(frame_id, head, body, due.deliver)
        return due

    def ask(self, head: dict[str, Any], body: bytes = b"") -> bridge.Frame:
        """Ask, and block until the answer is there. Raises ClosedError."""
        return self.begin(head, body).wait()

    async def ask_async(self, head: dict[str, Any], body: bytes = b"") -> bridge.Frame:
        """Ask, and let the event loop go on until the answer is there."""
        import asyncio  # whoever awaits has it

        loop = asyncio.get_running_loop()
        room = self._rooms.get(loop)
        if room is None:
            room = self._rooms.setdefault(loop, asyncio.Semaphore(MAX_AT_ONCE))
        async with room:
            frame_id = next(self._ids)
            future: asyncio.Future[Answer] = loop.create_future()
            self._send(frame_id, head, body, lambda answer: _wake(loop, future, answer))
            try:
                return _frame(await future)
            except asyncio.CancelledError:
                self._cancel(frame_id)
                raise

    def _send(self, frame_id: int, head: dict[str, Any], body: bytes, deliver: Deliver) -> None:
        if _getpid() != self._pid:
            raise ClosedError(
                "tools can be called only in the process that the program started in, and this is one that it forked: "
                "call them there and pass on the results, or use threads or asyncio instead of processes"
            )
        self._start_reader()
        self._due[frame_id] = deliver
        try:
            if self._closed:
                raise ClosedError("the bridge to the host is closed")
            self._write(bridge.CALL, frame_id, head, body)
        except BaseException:
            self._cancel(frame_id)  # it may have been written before a handler raised
            self._due.pop(frame_id, None)
            raise

    def _cancel(self, frame_id: int) -> None:
        """Tell the host that nobody waits for an answer any more. It still comes, and is left lying."""
        if frame_id in self._due and not self._closed and _getpid() == self._pid:
            try:
                self._write(bridge.CANCEL, frame_id, {}, b"")
            except ClosedError:
                return

    def _write(self, kind: int, frame_id: int, head: dict[str, Any], body: bytes) -> None:
        """Write a frame whole: a handler that raised in the middle of one would end all talk."""
        with _Quiet():
            try:
                self._stream.write_frame(kind, frame_id, head, body)
            except OSError as exc:
                raise ClosedError(f"the bridge to the host is closed: {exc.strerror}") from None

    def _start_reader(self) -> None:
        if self._reads:
            return
        with self._starting:
            if not self._reads:
                with _Quiet():  # a thread starts with the mask of its maker
                    start_new_thread(self._read, ())
                    self._reads = True

    def _read(self) -> None:
        end: BaseException = ClosedError("the bridge to the host is closed")
        try:
            while (frame := self._stream.read_frame()) is not None:
                deliver = self._due.pop(frame.id, None) if frame.kind == bridge.CALL else None
                if deliver is not None:
                    deliver(frame)
                del frame, deliver  # a large answer is the program's alone
        except MemoryError as exc:
            end = exc
        except BaseException:  # noqa: BLE001 - the stream is dead, whatever it was
            pass
        self._closed = True
        while self._due:
            self._due.popitem()[1](end)


class _Quiet:
    """No signal handler of the program runs in this thread meanwhile. One may raise as it begins or ends."""

    def __enter__(self) -> None:
        self._before = _mask(_BLOCK, ())
        try:
            _mask(_BLOCK, _SIGNALS)
        except BaseException:  # of a handler that was due, and the mask is set
            _mask(_SET, self._before)
            raise

    def __exit__(self, *_: object) -> None:
        _mask(_SET, self._before)


def _frame(answer: Answer | None) -> bridge.Frame:
    if isinstance(answer, bridge.Frame):
        return answer
    raise answer if answer is not None else ClosedError("there is no answer")


def _wake(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Answer], answer: Answer) -> None:
    def set_result() -> None:
        if not future.done():
            future.set_result(answer)

    try:
        loop.call_soon_threadsafe(set_result)
    except RuntimeError:
        return  # the loop has been closed
