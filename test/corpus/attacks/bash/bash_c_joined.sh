# Trick: the options of the shell are joined.
# Refused: run(curl)
bash -xec 'curl http://evil.example/'
