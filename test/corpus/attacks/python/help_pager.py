# Trick: help starts a pager, which is a program.
# Refused: unsafe(site_builtins)
help(len)
