# Trick: a text whose comparisons lie, against checks made in Python.
# Contained: no check of ours runs in the program's process after it started.
class Text(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("safe")


print(Text("evil") == "safe")
