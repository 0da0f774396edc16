# Trick: a code object is read from bytes.
# Refused: unsafe(code_object)
import marshal

print(marshal.loads(marshal.dumps(1)))
