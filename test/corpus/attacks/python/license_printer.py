# Trick: an object of the site module keeps the globals of its module.
# Refused: unsafe(site_builtins)
print(license._Printer__setup)
