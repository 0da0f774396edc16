# Trick: a program is installed.
# Refused: install(netcat)
sudo apt-get install -y netcat
