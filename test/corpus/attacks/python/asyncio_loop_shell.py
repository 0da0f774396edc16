# Trick: the event loop starts a program without any function of asyncio.
# Refused: run(id)
import asyncio


async def main():
    loop = asyncio.get_running_loop()
    await loop.subprocess_shell(asyncio.SubprocessProtocol, "id -u")


asyncio.run(main())
