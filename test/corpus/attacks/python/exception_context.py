# Trick: an exception that is never named gives its frame.
# Refused: unsafe(frames)
import contextlib


class Catch(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        print(trace.tb_frame.f_back)
        return True


with Catch():
    1 / 0
