# Trick: the code is hidden in hexadecimal digits.
# Refused: unsafe(eval)
print(eval(bytes.fromhex("5f5f696d706f72745f5f28276f7327292e6765747069642829").decode()))
