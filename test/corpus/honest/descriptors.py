"""Descriptors, metaclasses and class hooks."""


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.name, 0)

    def __set__(self, instance, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} must be positive")
        setattr(instance, self.name, value)


class Plugin:
    registry = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.registry[cls.__name__.lower()] = cls

    def __class_getitem__(cls, item):
        return cls.registry[item]


class Meta(type):
    def __new__(mcls, name, bases, namespace, **kwargs):
        namespace["tag"] = name.upper()
        return super().__new__(mcls, name, bases, namespace)

    def __len__(cls):
        return len(cls.tag)


class Box(metaclass=Meta):
    width = Positive()

    def __init__(self, width):
        self.width = width

    @classmethod
    def square(cls, side):
        return cls(side)

    @staticmethod
    def units():
        return "cm"


class Csv(Plugin): ...


class Xml(Plugin): ...


print(sorted(Plugin.registry), Plugin["csv"] is Csv, [c.__name__ for c in Plugin.__subclasses__()])
print(Box.tag, len(Box), Box.square(3).width, Box.units())
try:
    Box(-1)
except ValueError as error:
    print(error)
Dynamic = type("Dynamic", (Box,), {"depth": 2})
print(Dynamic(1).depth, Dynamic.__bases__[0].__name__, isinstance(Dynamic, Meta), Dynamic.__qualname__)
