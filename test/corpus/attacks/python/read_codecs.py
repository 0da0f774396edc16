# Trick: a file is read by another open.
# Refused: read(/etc/hostname)
import codecs

print(codecs.open("/etc/hostname").read())
