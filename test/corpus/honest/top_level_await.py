"""A cell that awaits at its top level."""
import asyncio


async def square(n):
    await asyncio.sleep(0)
    return n * n


results = await asyncio.gather(*(square(n) for n in range(4)))
print(results)
async with asyncio.Semaphore(1):
    print("done")
