# Trick: the path of a file of the host is computed.
# Contained: the root is read-only
echo x > "$(printf /etc)/cron.d/x"
