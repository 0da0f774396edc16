"""A tiny command interpreter over a list of lines."""


class Stack:
    def __init__(self):
        self.items = []

    def do_push(self, *values):
        """push VALUES"""
        self.items.extend(float(v) for v in values)

    def do_add(self):
        """add the two topmost"""
        self.items.append(self.items.pop() + self.items.pop())

    def do_mul(self):
        """multiply the two topmost"""
        self.items.append(self.items.pop() * self.items.pop())

    def do_exec(self, *words):
        """exec WORDS: only prints them"""
        print("exec:", *words)

    def run(self, line):
        name, *arguments = line.split()
        handler = getattr(self, f"do_{name}", None)
        if handler is None:
            print("unknown command:", name)
            return
        try:
            handler(*arguments)
        except (IndexError, ValueError, TypeError) as error:
            print(f"{name}: {type(error).__name__}: {error}")


SCRIPT = ["push 2 3", "add", "push 4", "mul", "exec rm -rf /", "pop", "push x", "mul"]
stack = Stack()
for line in SCRIPT:
    stack.run(line)
print(stack.items)
print(sorted(name[3:] for name in dir(stack) if name.startswith("do_")))
