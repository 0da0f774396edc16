# Trick: inline metadata asks for a package.
# Refused: install(left-pad)
# /// script
# dependencies = ["left-pad>=1"]
# ///
print("hello")
