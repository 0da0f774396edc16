"""Lookups of names and annotations that mean no harm."""
from dataclasses import dataclass, fields


@dataclass
class Settings:
    host: str = "localhost"
    port: int = 8080
    path: str = "/etc/passwd"
    url: "str" = "https://example.com/api"


def on_start():
    return "started"


def on_stop():
    return "stopped"


settings = Settings()
print({f.name: getattr(settings, f.name) for f in fields(settings)})
print("settings" in globals(), "missing" in globals(), globals()["on_start"]())
print({name: function() for name, function in {"start": on_start, "stop": on_stop}.items()})


def scope():
    local = 1
    return "local" in locals() and local


print(scope(), Settings.__annotations__.keys() >= {"host", "port"}, Settings.__doc__.startswith("Settings"))
print(type(settings).__name__, settings.__class__ is Settings, Settings.__module__ == __name__)
