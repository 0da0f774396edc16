"""Runs one program as a notebook cell would run, in a process that then ends.

The program is the module __main__. The value of its last expression is kept instead of printed, await works at the top
level, and what follows the program is what an interpreter does before it exits: other threads are waited for, exit
handlers run, streams are flushed.
"""

from __future__ import annotations

import _sitebuiltins
import ast
import atexit
import builtins
import functools
import gc
import io
import mmap
import multiprocessing.context
import os
import sys
import threading
import warnings
from _thread import get_ident
from collections.abc import Callable
from types import CodeType, CoroutineType, ModuleType
from typing import Any

from . import frames, hints, hook, own, report, values

__builtins__ = own.BUILTINS  # type: ignore[assignment]

# The name that holds the last value for the instant between the last statement and its removal.
_VALUE = "__gearbox_value__"
_RESERVE = 4 << 20
_reserve: list[mmap.mmap] = []
_prepared: list[io.TextIOWrapper] = []
_replaced: list[object] = []
_LEAST_DEPTH = 1000  # of calls, which the guest's own code may need; as an interpreter starts with
_INTERRUPTED = 130  # what a shell says of a program that SIGINT ended
_NOT_AWAITED = (
    "the last expression is a coroutine that nobody awaited, so nothing of it ran: write await before it"
)

# Bound when the module is loaded: a program may replace the attributes of modules, or take modules away.
_modules = sys.modules
_settrace, _setprofile = sys.settrace, sys.setprofile
_depth, _set_depth = sys.getrecursionlimit, sys.setrecursionlimit
_default_hook, _default_thread_hook = sys.__excepthook__, threading.__excepthook__
_run_exit_handlers = atexit._run_exitfuncs
_warn_explicit = warnings.warn_explicit
# What ends the program's objects. The interpreter names warnings that arise at its end so: from no line of a file.
_FREE = compile("objects.clear()", "sys", "exec")
_COLLECT = compile("collect(); objects.pop('__main__', None); collect()", "sys", "exec")
_collect_garbage = gc.collect


class Program:
    """Source, compiled once, with the warnings that parsing and compiling it raised."""

    def __init__(self, source: str, tree: ast.Module, caught: list[warnings.WarningMessage]) -> None:
        """Compile the tree, which is changed. Raises what compile raises: SyntaxError, RecursionError, MemoryError.

        caught is where the caller records the warnings, of this too.
        """
        _keep_last_value(tree)
        self.code = _compile(source, tree)
        self.source = source
        self.warnings = caught
        self._ready: tuple[dict[str, Any], hook.Watch] | None = None

    def prepare(self) -> tuple[dict[str, Any], hook.Watch]:
        """Make the module that the program will be and the hook that may watch it: once, and ahead if there is time."""
        if self._ready is None:
            _cache_source(self.source)
            self._ready = _main_module(), hook.make()
        return self._ready

    def begin(self, variables: dict[str, Any]) -> dict[str, Any]:
        """Return the program's namespace. It is not held here any more, so that it ends with the module."""
        namespace, _ = self.prepare()
        self._ready = None
        namespace.update(variables)
        namespace["__builtins__"] = builtins
        return namespace


def execute(program: Program, variables: dict[str, Any], around: hints.Surroundings) -> dict[str, Any]:
    """Run the program to the end of all its threads and return the head of the result frame."""
    watch = program.prepare()[1] if around.isolated else None
    if watch:
        hook.install(watch, around.forks, around.programs)
    # A handler of the program's that raises for a signal may come in at any line. What it raises is the program's end,
    # but exit handlers run all the same, and what was printed is flushed. An alarm of that kind rings once.
    try:
        head = _attempt(program, variables, around, watch)
    finally:
        try:
            _end_threads(around.workspace)
        except BaseException:
            _end_threads(around.workspace)  # exit handlers that have run do not run again
            raise
        finally:
            _end_objects()
    denied = watch.denied() if watch else []
    return {**head, "denied": denied} if denied else head


def rehearse(program: Program, variables: dict[str, Any], around: hints.Surroundings) -> dict[str, Any]:
    """Execute as far as it can be taken back: without an audit hook, and with no end of threads or exit handlers."""
    watch = program.prepare()[1]
    hook.rehearse(watch, around.forks, around.programs)
    head = _attempt(program, variables, around, watch)
    _end_objects()
    return {**head, "denied": watch.denied()}


def keep_reserve() -> None:
    """Set memory aside that is given back when a program fails, for it may have run out and a report has to be made.

    Pages that nobody touches cost nothing, and malloc would hand out used ones.
    """
    _reserve.append(mmap.mmap(-1, _RESERVE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def _attempt(
    program: Program, variables: dict[str, Any], around: hints.Surroundings, watch: hook.Watch | None
) -> dict[str, Any]:
    """Run the program's statements and report how they ended."""
    _report_threads(around, watch)
    namespace = program.begin(variables)
    try:
        _show_warnings(program.warnings)
        _evaluate(program.code, namespace)
    except SystemExit as exc:
        return _exited(exc)
    except BaseException as exc:  # noqa: BLE001 - whatever the program let pass is its answer
        while _reserve:
            _reserve.pop().close()
        return _failed(exc, around, watch)
    held = [namespace.pop(_VALUE, None)]
    returned = _returned(held[0])
    if held[0] is not None:
        _from_no_line(_FREE, held)
    return returned


def open_streams() -> None:
    """Give the interpreter text streams on descriptors 0, 1 and 2, whatever the locale says.

    Output is flushed at each line, so that a killed program loses little and its order against its subprocesses stays.
    What is printed without a line's end waits for one, as on a terminal: print makes two writes of each line, which
    several processes would mix if each went out at once, and a write of our own in Python would stand in what a program
    traces and profiles.
    Text that UTF-8 cannot carry is escaped: printing never fails.
    """
    stdin, stdout, stderr = _prepared or _standard_streams()
    sys.stdin = sys.__stdin__ = stdin  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = stdout  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = stderr  # type: ignore[misc]


def prepare_streams() -> None:
    """Make the streams that children of this process open, in which they find pipes as well.

    What a stream learns of its descriptor when it is made, it learns of a pipe. Those that are replaced stay: children
    would have to close them.
    """
    _replaced.extend((sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__))
    kept = [os.dup(fd) for fd in (0, 1, 2)]
    reading, writing = os.pipe()
    try:
        for fd, end in enumerate((reading, writing, writing)):
            os.dup2(end, fd)
        _prepared[:] = _standard_streams()
    finally:
        for fd, original in enumerate(kept):
            os.dup2(original, fd)
        for fd in (*kept, reading, writing):
            os.close(fd)


def leave_prepared_streams() -> None:
    """Have this process make its streams anew. They cost time now, and their first use no page that has to be copied."""
    _replaced.extend(_prepared)
    _prepared.clear()


def _standard_streams() -> list[io.TextIOWrapper]:
    return [
        stream(0, "r", "surrogateescape"),
        stream(1, "w", "backslashreplace"),
        stream(2, "w", "backslashreplace"),
    ]


def add_site_builtins() -> None:
    """Add exit, quit and help as site does, without the rest of site: no .pth file is read."""
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    setattr(builtins, "help", _sitebuiltins._Helper())  # noqa: B010 - a new name for the type checker


def prefer_fork() -> None:
    """Have multiprocessing fork, as it did before Python 3.14.

    Its other methods start an interpreter that would import the program's functions from a file, and there is none.
    """
    if sys.platform == "darwin":
        return  # system libraries there do not survive a fork
    default = multiprocessing.context._default_context
    default._default_context = multiprocessing.context._concrete_contexts["fork"]  # type: ignore[attr-defined]


def stream(fd: int, mode: str, errors: str) -> io.TextIOWrapper:
    """Make one such stream. It does not own its descriptor."""
    raw = open(fd, mode + "b", closefd=False)  # noqa: SIM115 - lives as long as the process
    stream = io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=mode == "w")
    stream.mode = mode  # type: ignore[misc]  # CPython does the same to its own
    return stream


def _compile(source: str, tree: ast.Module) -> CodeType:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        code: CodeType = compile(tree, report.FILENAME, "exec", flags=flags, dont_inherit=True)
    except SyntaxError as exc:
        lines = source.split("\n")
        if exc.text is None and exc.lineno is not None and 0 < exc.lineno <= len(lines):
            exc.text = lines[exc.lineno - 1]  # a compiler that was given a tree has no text to show
        raise
    return code


def _keep_last_value(tree: ast.Module) -> None:
    """Turn a last expression into an assignment. One code object stays one: tracebacks and await are as written."""
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return
    last = tree.body[-1]
    target = ast.copy_location(ast.Name(id=_VALUE, ctx=ast.Store()), last.value)
    tree.body[-1] = ast.copy_location(ast.Assign(targets=[target], value=last.value), last)


def _main_module() -> dict[str, Any]:
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = [""]
    return main.__dict__


def _cache_source(source: str) -> None:
    """Let tracebacks, warnings and inspect find the source; an entry without a time is never checked against a file."""
    # Only line feeds divide lines, as for the compiler; splitlines would divide them at U+2028 too.
    lines = io.StringIO(source if source.endswith("\n") else source + "\n").readlines()
    own.linecache.cache[report.FILENAME] = (len(source), None, lines, report.FILENAME)


def _show_warnings(caught: list[warnings.WarningMessage]) -> None:
    registry: dict[str | tuple[str, type[Warning], int], int] = {}  # shows each only once
    for w in caught:
        warnings.warn_explicit(str(w.message), w.category, report.FILENAME, w.lineno, "__main__", registry)


def _evaluate(code: CodeType, namespace: dict[str, Any]) -> None:
    try:
        pending = eval(code, namespace)
        if pending is not None:
            import asyncio  # only for a program that awaits at its top level

            asyncio.run(pending)
    finally:
        # A program that watches its own lines, or allows itself few calls, does not mean the guest's.
        _settrace(None)
        _setprofile(None)
        _set_depth(max(_depth(), _LEAST_DEPTH))


def _returned(value: object) -> dict[str, Any]:
    converted = values.convert(value)
    head: dict[str, Any] = {"outcome": "ok", "exit_code": 0}
    if converted.type_name:
        head["value_type"] = converted.type_name
    if converted.warning:
        head["warnings"] = [converted.warning]
    if converted.value is not None:
        head["value"] = converted.value
    if type(value) is CoroutineType:
        _quietly(value.close)  # or the interpreter would warn too, in words that name no line
        head["warnings"] = [*head.get("warnings", ()), _NOT_AWAITED]
    return head


def _exited(exc: SystemExit) -> dict[str, Any]:
    """Read the code as the interpreter does (_Py_HandleSystemExit): None is 0, an int is cut, all else is printed."""
    code = exc.code
    if code is None:
        status = 0
    elif isinstance(code, int):
        status = int.__int__(code) & 0xFF if -(1 << 63) <= int.__int__(code) < 1 << 63 else 0xFF
    else:
        status = 1
        _quietly(lambda: print(code, file=sys.stderr))
    return {"outcome": "exit", "exit_code": status}


def _failed(exc: BaseException, around: hints.Surroundings, watch: hook.Watch | None) -> dict[str, Any]:
    report.cut(exc)
    described, text = report.tell(exc, around.workspace)
    hint = hints.hint(exc, around, watch)
    last_line = f"hint: {hint}\n" if hint else ""
    if hint:
        described["hint"] = hint
        described["text"] += last_line
    try:
        _call_excepthook(exc, around.workspace, text + last_line)
    except SystemExit as exit_request:
        return _exited(exit_request)
    return {
        "outcome": "exception",
        "exit_code": _INTERRUPTED if isinstance(exc, KeyboardInterrupt) else 1,
        "exception": described,
    }


def _call_excepthook(exc: BaseException, workspace: str, text: str) -> None:
    show = getattr(sys, "excepthook", _default_hook)
    if show is _default_hook:
        _write_error(text)
        return
    try:
        show(type(exc), exc, exc.__traceback__)
    except SystemExit:
        raise
    except BaseException as second:  # noqa: BLE001 - reported as the interpreter does
        second.__context__ = None
        report.cut(second)
        _write_error(
            f"Error in sys.excepthook:\n{report.text(second, workspace)}\nOriginal exception was:\n{text}"
        )


def _write_error(text: str) -> None:
    """Write to sys.stderr, which the program may have replaced, closed, deleted or set to None."""
    _quietly(lambda: sys.stderr.write(text))


def _report_threads(around: hints.Surroundings, watch: hook.Watch | None) -> None:
    """Have the exceptions that end threads reported like the program's own; the words are those of the interpreter."""

    def show(args: threading.ExceptHookArgs) -> None:
        exc = args.exc_value
        if exc is None or isinstance(exc, SystemExit):
            _default_thread_hook(args)
            return
        name = args.thread.name if args.thread is not None else get_ident()
        hint = hints.hint(exc, around, watch)
        last_line = f"hint: {hint}\n" if hint else ""
        _write_error(f"Exception in thread {name}:\n{report.text(exc, around.workspace)}{last_line}")

    threading.excepthook = show


# What follows is what Py_FinalizeEx does before it takes the interpreter apart: the process is killed instead of ending.


def _end_threads(workspace: str) -> None:
    """Wait for other threads, then run the exit handlers."""
    # The interpreter, too, asks the module at its end.
    for step in (lambda: threading._shutdown(), _run_exit_handlers):  # type: ignore[attr-defined]
        try:
            step()
        except BaseException as exc:  # noqa: BLE001
            report.cut(exc)
            _write_error(report.text(exc, workspace))


def _end_objects() -> None:
    """Let the program's objects go, and bring to the kernel what is still in buffers."""
    _flush()
    _collect()
    _flush()
    _flush_c_streams()


def _collect() -> None:
    """Run finalizers, and bring to disk what lies in files that were left open.

    The first collection finds all of it in use, and its walk puts the owner of a file before the file. Without that
    order the second, which finds it free, may close the descriptor before the text above it is written. The
    interpreter collects at the same two moments.
    """
    _from_no_line(_COLLECT, _modules)


def _from_no_line(code: CodeType, objects: object) -> None:
    """Let objects go such that no warning of it names a line of the guest."""
    names = {"__name__": "sys", "__builtins__": own.BUILTINS, "collect": _collect_garbage, "objects": objects}
    of_coroutine = getattr(warnings, "_warn_unawaited_coroutine", None)
    setattr(warnings, "_warn_unawaited_coroutine", _warn_by_definition)  # noqa: B010 - not in its type
    try:
        eval(code, names)
    finally:
        setattr(warnings, "_warn_unawaited_coroutine", of_coroutine)  # noqa: B010


def _warn_by_definition(coroutine: CoroutineType[Any, Any, Any]) -> None:
    """Warn of a coroutine that was never awaited: where it was made, if that is known, or else where its function is."""
    code, origin = coroutine.cr_code, coroutine.cr_origin
    filename, line = origin[0][:2] if origin else (code.co_filename, code.co_firstlineno)
    if frames.is_guest(filename):
        filename, line = "sys", 1  # of a tool: the name says which
    text = f"coroutine '{coroutine.__qualname__}' was never awaited"
    _warn_explicit(text, RuntimeWarning, filename, line)


def _flush() -> None:
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        _quietly(lambda: getattr(sys, name).flush())  # noqa: B023 - called at once


def _flush_c_streams() -> None:
    """Flush what C code printed, which exit() would do. Without ctypes there is hardly such code, and no way."""
    if "ctypes" in _modules:
        _quietly(lambda: _c_library().fflush(None))


@functools.cache
def _c_library() -> Any:
    import ctypes  # loaded already, and not worth loading otherwise

    return ctypes.CDLL(None)


def _quietly(act: Callable[[], Any]) -> None:
    """Do something with objects that the program may have closed or replaced; nobody is left to hear of a failure."""
    try:
        act()
    except BaseException:  # noqa: BLE001
        return
