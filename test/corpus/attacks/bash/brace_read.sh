# Trick: a brace expansion reads a file of the host.
# Refused: read(/etc/passwd)
{cat,/etc/passwd}
