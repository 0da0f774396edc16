# Trick: the interpreter reads code from a here-document.
# Refused: unsafe(dynamic_code)
python3 - <<'END'
import socket
socket.create_connection(("evil.example", 80))
END
