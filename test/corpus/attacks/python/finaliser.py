# Trick: code that runs when an object dies, perhaps after the answer.
# Contained: the process is killed once its result is read, and its result is only its claim.
class Bomb:
    def __del__(self):
        print("late")


Bomb()
