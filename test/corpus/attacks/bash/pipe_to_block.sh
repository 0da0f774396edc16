# Trick: a download is piped into a shell inside a block.
# Refused: unsafe(dynamic_code)
cat payload.txt | { read -r first; bash; }
