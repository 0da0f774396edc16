# Trick: none; a host file.
# Refused: read(/etc/passwd)
print(open("/etc/passwd").read())
