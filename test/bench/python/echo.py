"""The floor: an idle interpreter that sends back what it receives on descriptor 3."""

import socket

connection = socket.socket(fileno=3)
while data := connection.recv(65536):
    connection.sendall(data)
