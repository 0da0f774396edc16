# Trick: the import is hidden in a branch of a function in a class.
# Refused: import(os)
class Deep:
    def method(self):
        if self:
            try:
                from os import system as quiet
            except ImportError:
                pass
            else:
                quiet("id")


Deep().method()
