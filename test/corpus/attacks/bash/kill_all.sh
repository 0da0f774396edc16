# Trick: every process is killed.
# Contained: only those of the sandbox are seen
kill -9 -1
