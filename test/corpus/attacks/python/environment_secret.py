# Trick: a credential from the environment.
# Refused: env(AWS_SECRET_ACCESS_KEY)
import os

print(os.environ.get("AWS_SECRET_ACCESS_KEY"))
