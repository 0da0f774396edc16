# Trick: a builtin is loaded from a library.
# Refused: unsafe(native)
enable -f ./evil.so evil
