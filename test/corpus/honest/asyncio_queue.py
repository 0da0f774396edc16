"""Producers and consumers with asyncio."""
import asyncio


async def producer(queue, n):
    for i in range(n):
        await asyncio.sleep(0)
        await queue.put(i)
    await queue.put(None)


async def consumer(queue, results):
    while True:
        item = await queue.get()
        if item is None:
            break
        results.append(item * item)


async def main():
    queue = asyncio.Queue(maxsize=2)
    results = []
    await asyncio.gather(producer(queue, 5), consumer(queue, results))
    print(results)
    try:
        await asyncio.wait_for(asyncio.sleep(60), timeout=0.01)
    except asyncio.TimeoutError:
        print("timed out")
    async with asyncio.Lock():
        print("locked")


if __name__ == "__main__":
    asyncio.run(main())
