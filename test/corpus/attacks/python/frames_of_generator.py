# Trick: a running generator's frame leads to its caller's.
# Refused: unsafe(frames)
def generate():
    yield g.gi_frame.f_back.f_builtins


g = generate()
print(next(g)["open"])
