# Trick: a traceback holds frames, and frames hold the builtins.
# Refused: unsafe(frames)
try:
    1 / 0
except Exception as error:
    print(error.__traceback__.tb_frame.f_builtins["__import__"]("os").getpid())
