# Trick: a program is started through asyncio, without subprocess.
# Refused: run(id)
import asyncio


async def main():
    process = await asyncio.create_subprocess_shell("id -u")
    await process.wait()


asyncio.run(main())
