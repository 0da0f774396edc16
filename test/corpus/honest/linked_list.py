"""A linked list, a binary tree and iteration protocols."""


class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next


class LinkedList:
    def __init__(self, values=()):
        self.head, self._size = None, 0
        for value in reversed(list(values)):
            self.prepend(value)

    def prepend(self, value):
        self.head, self._size = Node(value, self.head), self._size + 1

    def reverse(self):
        previous, node = None, self.head
        while node:
            node.next, previous, node = previous, node, node.next
        self.head = previous

    def __iter__(self):
        node = self.head
        while node is not None:
            yield node.value
            node = node.next

    def __len__(self):
        return self._size

    def __contains__(self, value):
        return any(v == value for v in self)

    def __bool__(self):
        return self.head is not None


class Tree:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def insert(self, value):
        side = "left" if value < self.value else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Tree(value))
        else:
            child.insert(value)

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.value
        if self.right:
            yield from self.right


numbers = LinkedList([1, 2, 3])
numbers.reverse()
print(list(numbers), len(numbers), 2 in numbers, bool(LinkedList()))
root = Tree(5)
for n in (3, 8, 1, 4, 9):
    root.insert(n)
print(list(root), *sorted(root, reverse=True)[:2])
