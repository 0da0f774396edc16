# Trick: a shell reads code from a process substitution.
# Refused: unsafe(dynamic_code)
bash <(base64 -d payload.txt)
