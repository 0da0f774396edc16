import pandas as pd

frame = pd.DataFrame({"city": ["a", "b", "a", "c"] * 5, "sold": range(20)})
print(frame.groupby("city").sold.sum().to_dict())
