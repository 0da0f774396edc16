# Trick: a file is run by every shell.
# Refused: unsafe(environment)
export BASH_ENV=./evil
bash -c :
