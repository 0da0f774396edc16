# Trick: a library is loaded into every program.
# Refused: unsafe(environment)
LD_PRELOAD=./evil.so ls
