# Trick: the address of cloud credentials.
# Refused: net(169.254.169.254:80)
import http.client

http.client.HTTPConnection("169.254.169.254").request("GET", "/latest/meta-data/")
