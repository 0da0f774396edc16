"""A calculator with its own parser, and methods that are merely called eval, exec and compile."""
import re


class Calculator:
    TOKENS = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|(.))")

    def compile(self, text):
        return [(float(number) if number else op) for number, op in self.TOKENS.findall(text)] + [None]

    def eval(self, text):
        self.tokens, self.position = self.compile(text), 0
        value = self.expression()
        if self.peek() is not None:
            raise SyntaxError(f"unexpected {self.peek()!r}")
        return value

    def exec(self, program):
        return [self.eval(line) for line in program.splitlines()]

    def peek(self):
        return self.tokens[self.position]

    def take(self):
        self.position += 1
        return self.tokens[self.position - 1]

    def expression(self):
        value = self.term()
        while self.peek() in ("+", "-"):
            value = value + self.term() if self.take() == "+" else value - self.term()
        return value

    def term(self):
        value = self.factor()
        while self.peek() in ("*", "/"):
            value = value * self.factor() if self.take() == "*" else value / self.factor()
        return value

    def factor(self):
        token = self.take()
        if token == "(":
            value = self.expression()
            assert self.take() == ")"
            return value
        if token == "-":
            return -self.factor()
        return token


def apply(compile, text):
    return compile(text)


calculator = Calculator()
print(calculator.eval("2 * (3 + 4) - -1"), calculator.exec("1+1\n6/4"))
print(apply(calculator.compile, "1 + 2"))
try:
    calculator.eval("1 2")
except SyntaxError as error:
    print(error)
print("eval('1+1')", 'exec("x")', "__import__('os')")  # eval("2") os.system("rm -rf /") subprocess.run
