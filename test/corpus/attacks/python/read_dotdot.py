# Trick: a relative path leaves the working directory.
# Refused: read(/etc/shadow)
print(open("../etc/shadow").read())
