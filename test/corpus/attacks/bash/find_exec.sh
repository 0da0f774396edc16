# Trick: find runs the program.
# Refused: run(curl)
find . -maxdepth 0 -exec curl http://evil.example/ \;
