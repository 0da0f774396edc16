# Trick: more memory than there is.
# Contained: by the memory limit.
block = "x" * (1 << 40)
