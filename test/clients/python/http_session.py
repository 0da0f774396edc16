"""Sessions of the Python SDK with a Gearbox server over HTTP, in one era of the protocol.

Usage: python http_session.py legacy|auto VERSION
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

NAMES = ["execute", "get_operation", "cancel_operation", "list_packages"]
GIVEN = json.loads(os.environ["GEARBOX_CLIENT"])
MODE, VERSION = sys.argv[1:]


def equal(got: object, want: object) -> None:
    """Fail with both sides in view."""
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def headers(token: str | None) -> dict[str, str]:
    """Name who asks."""
    return {"Authorization": f"Bearer {token}"} if token else {}


@contextlib.asynccontextmanager
async def connect(token: str | None) -> AsyncIterator[Client]:
    """Be connected as the holder of a token."""
    timeout = httpx2.Timeout(30, read=120)
    async with httpx2.AsyncClient(headers=headers(token), timeout=timeout) as http:
        transport = streamable_http_client(GIVEN["url"], http_client=http)
        async with Client(transport, mode=MODE, read_timeout_seconds=120) as client:
            equal(client.protocol_version, VERSION)
            yield client


def execute(client: Client, code: str, **more: Any) -> Awaitable[Any]:
    """Call execute."""
    return client.call_tool("execute", {"code": code, **more})


async def answers(client: Client) -> None:
    """Run, fail, be rejected and read."""
    printed = await execute(client, 'print(6*7)\n{"a": 1}')
    equal([c.type for c in printed.content], ["text"])
    equal(printed.content[0].text.splitlines()[0], "42")
    equal(printed.structured_content["status"], "ok")
    equal(printed.structured_content["value"], {"a": 1})
    equal(printed.is_error, False)

    failed = await execute(client, "1/0")
    equal(failed.is_error, True)
    equal(failed.structured_content["error"]["code"], "ZeroDivisionError")

    rejected = await client.call_tool("execute", {"code": 7})
    equal(rejected.structured_content["error"]["code"], "INVALID_ARGUMENT")
    info = await client.read_resource("env://info")
    equal(info.contents[0].text.splitlines()[0], "Execution Environment Info")


async def progress(client: Client) -> None:
    """Be told after a second, and then every ten, of a call that lasts."""
    told: list[str | None] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        told.append(message)

    code = {"code": "import time; time.sleep(3)", "timeout_seconds": 60}
    answer = await client.call_tool("execute", code, progress_callback=hear)
    equal(answer.structured_content["status"], "ok")
    equal((told[0] or "").split(" as operation ")[0], "running for 1s")


async def reconnects(client: Client) -> None:
    """Find an operation again from another connection, and end one from there."""
    code = "import time; time.sleep(2); print('done')"
    running = await execute(client, code, timeout_seconds=60, wait_seconds=0)
    equal(running.structured_content["status"], "running")
    operation = {"operation_id": running.structured_content["operation_id"]}
    async with connect(GIVEN["token"]) as again:
        ended = await again.call_tool("get_operation", {**operation, "wait_seconds": 60})
        equal(ended.structured_content["stdout"], "done\n")
        slow = await execute(again, "import time; time.sleep(60)", timeout_seconds=90, wait_seconds=0)
        operation = {"operation_id": slow.structured_content["operation_id"]}
        cancelled = await again.call_tool("cancel_operation", operation)
        equal(cancelled.structured_content["status"], "cancelled")


async def operations(token: str) -> list[dict[str, Any]]:
    """List a principal's operations."""
    async with httpx2.AsyncClient(headers=headers(token)) as http:
        answer = await http.get(GIVEN["api"] + "/operations")
        equal(answer.status_code, 200)
        found: list[dict[str, Any]] = answer.json()["operations"]
        return found


async def until(what: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    """Wait for an operation of which something holds."""
    end = time.monotonic() + 60
    while not any(holds(o) for o in await operations(GIVEN["token"])):
        if time.monotonic() > end:
            raise AssertionError(f"it does not come about that {what}")
        await asyncio.sleep(0.05)


async def cancels(client: Client) -> None:
    """Give up a call: it is cancelled, not left to run."""
    call = execute(client, "sleep 71", language="bash", timeout_seconds=90, wait_seconds=90)
    task = asyncio.ensure_future(call)
    await until("an operation in bash is there", lambda o: o["language"] == "bash")
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await until("it is cancelled", lambda o: o["language"] == "bash" and o.get("status") == "cancelled")


async def strangers(client: Client) -> None:
    """See nothing of another principal's operations."""
    mine = await execute(client, "'mine'")
    operation = {"operation_id": mine.structured_content["operation_id"]}
    async with connect(GIVEN["other"]) as stranger:
        for tool in ("get_operation", "cancel_operation"):
            answer = await stranger.call_tool(tool, operation)
            equal(answer.structured_content["error"]["code"], "NOT_FOUND")
    equal(await operations(GIVEN["other"]), [])
    equal((await client.call_tool("get_operation", operation)).structured_content["value"], "mine")


def leaves(error: BaseException) -> list[BaseException]:
    """Unfold groups of exceptions, as task groups raise them."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for e in error.exceptions for leaf in leaves(e)]
    return [error]


async def unauthorized(token: str | None, then: Callable[[Client], Awaitable[Any]] | None = None) -> None:
    """Be turned away, when connecting or when something is called then."""
    try:
        async with connect(token) as client:
            if then is None:
                raise AssertionError(f"the token {token!r} was taken")
            await then(client)
            raise AssertionError("a revoked token was taken")
    except Exception as error:
        if isinstance(error, AssertionError):
            raise
        text = " ".join(repr(leaf) for leaf in leaves(error))
        if "a valid token is needed" not in text:
            raise AssertionError(f"it was not said that a token is missing: {text}") from error


async def revoked(client: Client) -> None:
    """Go on after the token was taken back."""
    equal((await execute(client, "1")).structured_content["value"], 1)
    subprocess.run(GIVEN["revoke"], check=True, capture_output=True)
    await execute(client, "1")


async def main() -> None:
    """Do all of it."""
    async with connect(GIVEN["token"]) as client:
        equal([tool.name for tool in (await client.list_tools()).tools][:4], NAMES)
        await asyncio.gather(answers(client), progress(client), reconnects(client), cancels(client))
        await strangers(client)
    await unauthorized("gbx_wrong")
    await unauthorized(None)
    await unauthorized(GIVEN["doomed"], revoked)
    await unauthorized(GIVEN["doomed"])


asyncio.run(main())
print("ok")
