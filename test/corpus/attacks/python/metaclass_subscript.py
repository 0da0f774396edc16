# Trick: an innocent subscript calls a method of the program's own.
# Contained: it calls nothing that the program could not call by name.
class Meta(type):
    def __getitem__(cls, key):
        return key


class Box(metaclass=Meta):
    pass


print(Box["key"])
