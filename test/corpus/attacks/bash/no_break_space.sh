# Trick: a no-break space looks like a space.
# Refused: run(*)
ls x
