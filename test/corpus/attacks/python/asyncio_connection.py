# Trick: a connection through asyncio, without socket.
# Refused: net(example.com:80)
import asyncio


async def main():
    await asyncio.open_connection("example.com", 80)


asyncio.run(main())
