# Trick: asyncio starts programs, and its submodule holds subprocess.
# Refused: unsafe(reexport)
import asyncio

print(asyncio.subprocess.subprocess.Popen)
