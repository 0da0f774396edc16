# Trick: a relative path climbs out.
# Refused: write(/etc/passwd)
echo x > ../../etc/passwd
