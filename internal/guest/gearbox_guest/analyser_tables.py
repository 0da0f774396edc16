"""What the analyser knows of the standard library and of common packages.

Data only. Every key is a resolved dotted name, as :mod:`analyser_names` writes
it: ``()`` stands for "what a call returned", so that ``requests.Session().get``
is the method of a session, however the session was named.
"""

from __future__ import annotations

import sys

STDLIB = frozenset(sys.stdlib_module_names)


def words(text: str) -> list[str]:
    """Lists of names are written as running text, to keep the tables readable."""
    return text.split()


# --- Modules ---------------------------------------------------------------------------------------

SUBMODULES = {
    "asyncio": "base_events base_futures base_subprocess base_tasks constants coroutines events exceptions "
    "format_helpers futures graph locks log mixins protocols queues runners selector_events sslproto staggered streams "
    "subprocess taskgroups tasks threads timeouts tools transports trsock unix_events",
    "collections": "abc",
    "compression": "bz2 gzip lzma zlib zstd",
    "concurrent": "futures interpreters",
    "concurrent.futures": "process thread",
    "ctypes": "util wintypes",
    "curses": "ascii panel textpad",
    "dbm": "dumb gnu ndbm sqlite3",
    "email": "charset encoders errors generator header headerregistry message mime parser policy utils",
    "html": "entities parser",
    "http": "client cookiejar cookies server",
    "importlib": "abc machinery metadata resources util",
    "json": "decoder encoder scanner tool",
    "logging": "config handlers",
    "multiprocessing": "connection context dummy managers pool process queues shared_memory sharedctypes spawn util",
    "os": "path",
    "sqlite3": "dbapi2 dump",
    "string": "templatelib",
    "unittest": "async_case case loader mock runner suite util",
    "urllib": "error parse request response robotparser",
    "wsgiref": "handlers headers simple_server util validate",
    "xml": "dom etree parsers sax",
    "xml.dom": "minidom pulldom expatbuilder",
    "xml.etree": "ElementTree cElementTree",
    "xml.sax": "handler saxutils xmlreader",
    "xmlrpc": "client server",
}
MODULES = frozenset(f"{package}.{name}" for package, names in SUBMODULES.items() for name in names.split())
"""Submodules of the standard library that programs name: ``from urllib import parse`` imports one of them."""

NOT_REEXPORTS = frozenset(
    words(
        "ast.keyword ast.operator copyreg.pickle asyncio.subprocess collections.abc compression.bz2 compression.gzip compression.lzma "
        "compression.zlib concurrent.interpreters datetime.time dbm.sqlite3 importlib.abc os.stat pathlib.types "
        "shutil.copy sys.platform"
    )
)
"""Attributes of a module that are called like some other module and are not it.
Every other attribute that is called like a module is taken for that module
(``random._os``, ``re.enum``); the rule is by name, so that equal sources give
equal facts whatever happens to be loaded in the analysing process."""

EVERYWHERE = frozenset(
    {"builtins", "ctypes", "importlib", "os", "posix", "shutil", "socket", "subprocess", "sys"}
)
"""Modules that must not be reached through anything that is no module of the
standard library either (``numpy.os``, ``asyncio.events.format_helpers.sys``)."""

OBJECT_ATTRIBUTES = frozenset({"socket"})
"""Those of them that are ordinary attributes of objects (``zmq.Context().socket``)."""

ALIASES = {"enum.bltns": "builtins", "os.st": "stat", "typing.stdlib_re": "re"}
"""Modules that another one holds under a name of its own."""

DYNAMIC_OK = frozenset({"cmath", "itertools", "math", "operator", "time"})
"""Modules written in C or without re-exports, whose attributes may be chosen by a variable."""

UNSAFE_MODULES = {
    "_ctypes": "ctypes",
    "_interpreters": "subinterpreter",
    "_io": "private",
    "_posixsubprocess": "private",
    "_testcapi": "ctypes",
    "_xxsubinterpreters": "subinterpreter",
    "builtins": "namespace",
    "cffi": "ctypes",
    "concurrent.interpreters": "subinterpreter",
    "ctypes": "ctypes",
    "gc": "gc",
    "numpy.ctypeslib": "ctypes",
    "numpy.distutils": "exec",
    "numpy.f2py": "exec",
    "posix": "private",
}
"""Modules whose import alone already reaches past every later check."""

# --- References ------------------------------------------------------------------------------------

UNSAFE = {
    "builtins.__build_class__": "dunder",
    "builtins.__builtins__": "dunder",
    "builtins.__loader__": "dunder",
    "builtins.__spec__": "dunder",
    "builtins.breakpoint": "debugger",
    "builtins.compile": "compile",
    "builtins.copyright": "site_builtins",
    "builtins.credits": "site_builtins",
    "builtins.eval": "eval",
    "builtins.exec": "exec",
    "builtins.help": "site_builtins",
    "builtins.license": "site_builtins",
    "bdb.Bdb": "debugger",
    "cProfile.run": "exec",
    "cProfile.runctx": "exec",
    "cloudpickle.load": "pickle",
    "cloudpickle.loads": "pickle",
    "code.InteractiveConsole": "exec",
    "code.InteractiveInterpreter": "exec",
    "code.interact": "exec",
    "codeop.compile_command": "compile",
    "copyreg.pickle": "pickle",
    "dill.load": "pickle",
    "dill.loads": "pickle",
    "doctest.run_docstring_examples": "exec",
    "doctest.testfile": "exec",
    "doctest.testmod": "exec",
    "faulthandler.register": "interpreter_hook",
    "inspect.currentframe": "frames",
    "inspect.stack": "frames",
    "inspect.trace": "frames",
    "joblib.load": "pickle",
    "jsonpickle.decode": "pickle",
    "logging.config.dictConfig": "dynamic_import",
    "logging.config.fileConfig": "dynamic_import",
    "marshal.load": "code_object",
    "marshal.loads": "code_object",
    "mmap.mmap": "native",
    "pandas.read_pickle": "pickle",
    "pdb.Pdb": "debugger",
    "pdb.run": "exec",
    "pdb.runcall": "debugger",
    "pdb.runeval": "eval",
    "pdb.set_trace": "debugger",
    "pickle.Unpickler": "pickle",
    "pickle.load": "pickle",
    "pickle.loads": "pickle",
    "pkgutil.get_loader": "dynamic_import",
    "pkgutil.resolve_name": "dynamic_import",
    "profile.run": "exec",
    "profile.runctx": "exec",
    "pydoc.locate": "dynamic_import",
    "pydoc.resolve": "dynamic_import",
    "runpy.run_module": "exec",
    "runpy.run_path": "exec",
    "shelve.open": "pickle",
    "sys._current_exceptions": "frames",
    "sys._current_frames": "frames",
    "sys._getframe": "frames",
    "sys._getframemodulename": "frames",
    "sys.addaudithook": "interpreter_hook",
    "sys.meta_path": "interpreter_hook",
    "sys.modules": "namespace",
    "sys.monitoring": "interpreter_hook",
    "sys.path_hooks": "interpreter_hook",
    "sys.path_importer_cache": "interpreter_hook",
    "sys.remote_exec": "remote_exec",
    "sys.setprofile": "interpreter_hook",
    "sys.settrace": "interpreter_hook",
    "threading.setprofile": "interpreter_hook",
    "threading.settrace": "interpreter_hook",
    "trace.Trace": "exec",
    "types.CodeType": "code_object",
    "types.FunctionType": "code_object",
    "types.LambdaType": "code_object",
    "threading.setprofile_all_threads": "interpreter_hook",
    "threading.settrace_all_threads": "interpreter_hook",
    "typing._eval_type": "eval",
    "typing.ForwardRef": "eval",
    "yaml.full_load": "pickle",
    "yaml.unsafe_load": "pickle",
    "zipimport.zipimporter": "dynamic_import",
}
"""A reference to one of these, called or not, is unsafe with this word."""

UNSAFE_SUFFIXES = {
    "load_module": "dynamic_import",
    "exec_module": "dynamic_import",
    "_evaluate": "eval",
}
"""Methods that load code, whatever object they are found on."""

IMPORTERS = frozenset({"builtins.__import__", "importlib.import_module", "importlib.__import__"})
ATTRIBUTE_READERS = frozenset({"builtins.getattr", "builtins.setattr", "builtins.delattr"})
ATTRIBUTE_GETTERS = frozenset({"operator.attrgetter", "operator.methodcaller"})
NAMESPACES = frozenset({"builtins.globals", "builtins.locals"})
SENSITIVE = frozenset(
    {"eval", "exec", "compile", "getattr", "globals", "locals", "vars", "open", "__import__"}
)
"""Builtins whose name must be rebound for certain before it is taken for something else."""

STRINGS_RUN = {"timeit.timeit": "exec", "timeit.repeat": "exec", "timeit.Timer": "exec"}
"""Functions that run their first argument when it is text."""

EVALUATED_METHODS = frozenset({"eval", "query"})
"""Methods of data frames that evaluate their first argument in a small language of
their own, out of which ``@name`` and special attributes lead."""

EVALUATED_CALLS = frozenset({"pandas.eval", "sympy.S", "sympy.parse_expr", "sympy.simplify", "sympy.sympify"})

STRINGS_TYPED = frozenset(
    {"typing.ForwardRef", "typing.NamedTuple", "typing.TypedDict", "typing.TypeVar", "typing.cast"}
)
"""Functions whose text arguments may later be evaluated as annotations."""

MAY_BE_PATCHED = frozenset({"sys.stdout", "sys.stderr", "sys.stdin", "sys.argv", "sys.tracebacklimit"})

# --- Attributes ------------------------------------------------------------------------------------

DUNDER_OK = frozenset(
    words(
        "__abs__ __add__ __aenter__ __aexit__ __aiter__ __all__ __and__ __anext__ __annotations__ __args__ __array__ "
        "__author__ __await__ __bool__ __bytes__ __call__ __cause__ __ceil__ __class__ __class_getitem__ __complex__ "
        "__contains__ __context__ __copy__ __dataclass_fields__ __debug__ __deepcopy__ __defaults__ __del__ __delattr__ "
        "__delete__ __delitem__ __dict__ __dir__ __divmod__ __doc__ __enter__ __eq__ __exit__ __file__ __float__ "
        "__floor__ __floordiv__ __format__ __fspath__ __func__ __ge__ __get__ __getattr__ __getitem__ __getnewargs__ "
        "__getstate__ __gt__ __hash__ __iadd__ __iand__ __ifloordiv__ __ilshift__ __imatmul__ __imod__ __imul__ "
        "__index__ __init__ __init_subclass__ __instancecheck__ __int__ __invert__ __ior__ __ipow__ __irshift__ "
        "__isub__ __iter__ __itruediv__ __ixor__ __kwdefaults__ __le__ __len__ __length_hint__ __lshift__ __lt__ "
        "__main__ __match_args__ __matmul__ __members__ __metaclass__ __missing__ __mod__ __module__ __mul__ __name__ "
        "__ne__ __neg__ __new__ __next__ __notes__ __or__ __origin__ __parameters__ __pos__ __post_init__ __pow__ "
        "__prepare__ __qualname__ __radd__ __rand__ __rdivmod__ __repr__ __reversed__ __rfloordiv__ __rlshift__ "
        "__rmatmul__ __rmod__ __rmul__ __ror__ __round__ __rpow__ __rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__ "
        "__set__ __set_name__ __setattr__ __setitem__ __setstate__ __signature__ __sizeof__ __slots__ __str__ __sub__ "
        "__subclasscheck__ __subclasshook__ __suppress_context__ __traceback__ __truediv__ __trunc__ __type_params__ "
        "__value__ __version__ __weakref__ __wrapped__ __xor__"
    )
)
"""Special attributes that lead nowhere but to the object's own behaviour."""

CLASS_WALK = frozenset({"__base__", "__bases__", "__mro__", "__subclasses__"})
"""Harmless on the program's own classes, the first steps of an escape on others."""

FRAMES = frozenset(
    words(
        "ag_code ag_frame co_code co_consts cr_code cr_frame f_back f_builtins f_code f_globals f_locals func_code "
        "func_globals gi_code gi_frame tb_frame"
    )
)
"""Attributes of frames, tracebacks, generators and code objects."""
