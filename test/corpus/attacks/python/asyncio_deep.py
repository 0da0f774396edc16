# Trick: several modules of a package are crossed before one holds sys.
# Refused: unsafe(reexport)
import asyncio

print(asyncio.events.format_helpers.sys.modules["os"].getpid())
