# Trick: everything is deleted.
# Refused: write(~)
\rm -rf ~
