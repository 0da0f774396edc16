# Trick: a cloud's metadata is asked.
# Refused: net(169.254.169.254:80)
curl -s http://169.254.169.254/latest/meta-data/
