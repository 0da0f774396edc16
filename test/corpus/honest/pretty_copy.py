"""pprint, copy and identity."""
import copy
import pprint

config = {
    "name": "service",
    "endpoints": [{"path": f"/items/{i}", "methods": ["GET", "POST"]} for i in range(3)],
    "limits": {"rate": 10, "burst": 20},
}
shallow, deep = copy.copy(config), copy.deepcopy(config)
config["endpoints"][0]["methods"].append("DELETE")
print(shallow["endpoints"][0]["methods"], deep["endpoints"][0]["methods"])
pprint.pprint(config, width=60)


class Node:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)

    def __deepcopy__(self, memo):
        return Node(self.value * 10, (copy.deepcopy(c, memo) for c in self.children))

    def __copy__(self):
        return Node(self.value, self.children)

    def flat(self):
        return [self.value] + [v for c in self.children for v in c.flat()]


tree = Node(1, [Node(2), Node(3, [Node(4)])])
print(copy.copy(tree).flat(), copy.deepcopy(tree).flat())
print(vars(Node(5)), tree.__dict__.keys() == {"value", "children"})
