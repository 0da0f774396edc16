# Trick: code is hidden in hexadecimal digits.
# Refused: unsafe(dynamic_code)
printf 6375726c | xxd -r -p | bash -s
