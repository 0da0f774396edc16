"""One session of the Python SDK with a Gearbox server over stdio or HTTP, in each era of the protocol.

Usage: python session.py COMMAND ARG… | URL
"""

import asyncio
import sys
from typing import Any

from mcp import Client, StdioServerParameters

NAMES = ["execute", "get_operation", "cancel_operation", "list_packages"]


def equal(got: object, want: object) -> None:
    """Fail with both sides in view."""
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


async def session(server: StdioServerParameters | str, mode: Any, version: str) -> None:
    """Run, fail, be rejected, cancel and read in one session."""
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        equal(client.protocol_version, version)
        equal([tool.name for tool in (await client.list_tools()).tools][:4], NAMES)

        printed = await client.call_tool("execute", {"code": "print(6*7)"})
        equal(printed.content[0].text, "42\n")
        equal(printed.is_error, False)

        failed = await client.call_tool("execute", {"code": "1/0"})
        equal(failed.is_error, True)
        equal(failed.structured_content["error"]["code"], "ZeroDivisionError")

        rejected = await client.call_tool("execute", {"code": 7})
        equal(rejected.structured_content["error"]["code"], "INVALID_ARGUMENT")

        slow = {"code": "import time; time.sleep(60)", "timeout_seconds": 90, "wait_seconds": 0}
        running = await client.call_tool("execute", slow)
        equal(running.structured_content["status"], "running")
        operation = {"operation_id": running.structured_content["operation_id"]}
        cancelled = await client.call_tool("cancel_operation", operation)
        equal(cancelled.structured_content["status"], "cancelled")

        info = await client.read_resource("env://info")
        equal(info.contents[0].text.splitlines()[0], "Execution Environment Info")


async def main() -> None:
    """Speak the handshake era first, then what both sides prefer."""
    command, args = sys.argv[1], sys.argv[2:]
    server: StdioServerParameters | str = command
    if not command.startswith("http"):
        server = StdioServerParameters(command=command, args=args)
    await session(server, "legacy", "2025-11-25")
    await session(server, "auto", "2026-07-28")


asyncio.run(main())
print("ok")
