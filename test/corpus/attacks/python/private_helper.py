# Trick: a private helper of an allowed module runs source text.
# Refused: unsafe(private)
import dataclasses

print(dataclasses._create_fn if hasattr(dataclasses, "_create_fn") else None)
