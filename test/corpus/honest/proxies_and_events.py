"""Proxies, singletons, events and decorators with names chosen at run time."""


class Logger:
    def __getattr__(self, level):
        return lambda message, *args: print(f"[{level.upper()}] {message.format(*args)}")

    def log(self, level, message):
        return getattr(self, level)(message)


class Proxy:
    def __init__(self, target):
        object.__setattr__(self, "_target", target)

    def __getattr__(self, name):
        print("get", name)
        return getattr(self._target, name)

    def __setattr__(self, name, value):
        print("set", name)
        setattr(self._target, name, value)


class Singleton(type):
    _instances = {}

    def __call__(cls, *args, **kwargs):
        if cls not in cls._instances:
            cls._instances[cls] = super().__call__(*args, **kwargs)
        return cls._instances[cls]


class Emitter(metaclass=Singleton):
    def __init__(self):
        self.handlers = {}

    def __getattribute__(self, name):
        return super().__getattribute__(name)

    def on(self, event):
        def register(function):
            self.handlers.setdefault(event, []).append(function)
            return function

        return register

    def emit(self, event, **details):
        for handler in self.handlers.get(event, []):
            handler(**details)
        hook = getattr(self, f"on_{event}", None)
        if callable(hook):
            hook()

    def on_saved(self):
        print("hook: saved")


def retry(times):
    def decorate(function):
        def wrapper(*args, **kwargs):
            for attempt in range(1, times + 1):
                try:
                    return function(*args, attempt=attempt, **kwargs)
                except ValueError as error:
                    print(f"attempt {attempt}: {type(error).__name__}: {error}")
            return None

        wrapper.__name__, wrapper.__doc__ = function.__name__, function.__doc__
        return wrapper

    return decorate


log = Logger()
log.info("{} items", 3)
log.log("warn", "careful")


class Box:
    pass


proxy = Proxy(Box())
proxy.size = 3
print(proxy.size)
emitter = Emitter()
print(Emitter() is emitter)


@emitter.on("saved")
def notify(path):
    print("saved", path)


emitter.emit("saved", path="/etc/passwd")


@retry(3)
def flaky(attempt):
    """Fails twice."""
    if attempt < 3:
        raise ValueError("not yet")
    return attempt


print(flaky(), flaky.__name__, flaky.__doc__)
