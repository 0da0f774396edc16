# Trick: source reads code from a process substitution.
# Refused: unsafe(dynamic_code)
. <(base64 -d <<< bHM=)
