# Trick: a secret of the operator is read.
# Refused: env(AWS_SECRET_ACCESS_KEY)
echo "$AWS_SECRET_ACCESS_KEY"
