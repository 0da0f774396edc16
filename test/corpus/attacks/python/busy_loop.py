# Trick: a loop without an end.
# Contained: by the time limit.
while True:
    pass
