# Trick: everything is deleted.
# Contained: ~ is the workspace of the run, and the operator's home is not in the sandbox.
\rm -rf ~
