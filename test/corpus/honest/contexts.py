"""Context managers and cleanup order."""
import contextlib
import io
from contextlib import contextmanager, suppress


class Resource:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        print("open", self.name)
        return self

    def __exit__(self, kind, error, traceback):
        print("close", self.name, kind.__name__ if kind else None)
        return kind is KeyError


@contextmanager
def tag(name):
    print(f"<{name}>")
    try:
        yield name.upper()
    finally:
        print(f"</{name}>")


with Resource("a") as a, Resource("b"):
    print(a.name)
with Resource("c"):
    raise KeyError("swallowed")
with tag("p") as p, suppress(ZeroDivisionError):
    print(p)
    1 / 0
with contextlib.ExitStack() as stack:
    for name in "xyz":
        stack.enter_context(tag(name))
captured = io.StringIO()
with contextlib.redirect_stdout(captured):
    print("hidden")
print(repr(captured.getvalue()))
