# Trick: output never ends.
# Contained: a run that produces too much is ended
while :; do echo flood; done
