# Trick: a function in a subshell makes a program look like a function.
# Refused: run(curl)
( curl() { :; } )
curl http://evil.example/
