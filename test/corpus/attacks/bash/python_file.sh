# Trick: code of another language is written to a file and run.
# Contained: what it does is not granted to the sandbox
echo 'import socket' > x.py
python3 x.py
