"""A small class hierarchy with properties and errors."""
from abc import ABC, abstractmethod


class InsufficientFunds(Exception):
    def __init__(self, needed, available):
        super().__init__(f"need {needed:.2f}, have {available:.2f}")
        self.needed = needed


class Account(ABC):
    _count = 0

    def __init__(self, owner, balance=0.0):
        self.owner = owner
        self._balance = balance
        type(self)._count += 1

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        if value < 0:
            raise InsufficientFunds(-value, self._balance)
        self._balance = value

    @abstractmethod
    def interest(self): ...

    def withdraw(self, amount):
        self.balance = self._balance - amount

    def __repr__(self):
        return f"{self.__class__.__name__}({self.owner!r}, {self.balance:.2f})"


class Savings(Account):
    rate = 0.03

    def interest(self):
        return self.balance * self.rate


class Current(Account):
    def interest(self):
        return 0.0


accounts = [Savings("ada", 100), Current("bob", 20)]
for account in accounts:
    try:
        account.withdraw(50)
        print("ok", account, round(account.interest(), 2))
    except InsufficientFunds as error:
        print("refused", account.owner, error, error.needed)
print(sorted(cls.__name__ for cls in Account.__subclasses__()))
print([cls.__name__ for cls in Savings.__mro__])
