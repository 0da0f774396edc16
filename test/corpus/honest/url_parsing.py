"""Take URLs apart and put them together; nothing is fetched."""
import html
import ipaddress
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit, urlunsplit

URL = "https://user@api.example.com:8443/v1/items?tag=a&tag=b&q=x%20y#top"
parts = urlsplit(URL)
print(parts.scheme, parts.hostname, parts.port, parts.path, parse_qs(parts.query))
print(urlunsplit(parts._replace(query=urlencode({"page": 2, "q": "a b"}), fragment="")))
print(urljoin("https://example.com/a/b", "../c"), quote("ä/ö?"))
print(html.escape("<a href='x'>&</a>"), html.unescape("&lt;&eacute;&gt;"))
network = ipaddress.ip_network("192.168.0.0/29")
print(network.num_addresses, ipaddress.ip_address("192.168.0.5") in network, list(network.hosts())[0])
print(["169.254.169.254", "127.0.0.1:8080"])
