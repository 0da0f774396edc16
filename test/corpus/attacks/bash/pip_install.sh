# Trick: a package is installed.
# Refused: install(evil-package)
python3 -m pip install -q Evil_Package
