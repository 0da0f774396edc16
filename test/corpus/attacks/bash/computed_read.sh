# Trick: the path of a file of the host is computed.
# Contained: the host's file is not mounted
cat "$(printf '/etc/sha')dow"
