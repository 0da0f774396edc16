# Trick: a bare socket.
# Refused: net(192.0.2.7:443)
import socket

s = socket.socket()
address = ("192.0.2.7", 443)
s.connect(address)
