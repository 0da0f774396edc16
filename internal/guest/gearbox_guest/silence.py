"""What becomes of signals when the program is over.

Handlers of the program are its code, and an exception that one raises comes out wherever the interpreter happens to be.
Until the last exit handler that is the program's affair: it may wait for a thread that an alarm ends, and exit handlers
may set a time limit for themselves. After that it would be the guest, which makes the result.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import atexit

from . import own

__builtins__ = own.BUILTINS  # type: ignore[assignment]

# Bound when the module is loaded, and those of C: a program may replace the attributes of signal.
_handler_of, _handle, _SIGNALS = _signal.getsignal, _signal.signal, _signal.valid_signals()
_set_timer = _signal.setitimer
_TIMERS = {
    _signal.SIGALRM: _signal.ITIMER_REAL,
    _signal.SIGVTALRM: _signal.ITIMER_VIRTUAL,
    _signal.SIGPROF: _signal.ITIMER_PROF,
}
# A handler that raises interrupts what is done here too. Without its timer it rarely has another chance.
_ATTEMPTS = 100
_silent: list[bool] = []


def keep() -> None:
    """Have signals without effect after the last exit handler: those that come first are called last.

    Twice, for the first call may be interrupted before its first line.
    """
    for _ in range(2):
        atexit.register(_fall_silent)


def _fall_silent() -> None:
    for _ in range(_ATTEMPTS):
        try:
            if not _silent:
                _replace_handlers()
                _silent.append(True)
            return
        except BaseException:  # noqa: BLE001, S112 - a handler that was due
            continue


def _replace_handlers() -> None:
    """Replace what the program handles, and what raises KeyboardInterrupt, by nothing.

    The signals are not ignored: processes that finalizers start would inherit that. What has its default effect keeps
    it, and what is ignored costs no system call.
    """
    handled = [number for number in _SIGNALS if callable(_handler_of(number))]
    for number in handled:
        if number in _TIMERS:
            _set_timer(_TIMERS[number], 0)
    for number in handled:
        _handle(number, _do_nothing)


def _do_nothing(number: int, frame: object) -> None:
    pass
