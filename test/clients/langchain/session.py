"""Gearbox's tools as LangChain's adapter gives them to agents, over HTTP.

Usage: python session.py
"""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable
from typing import Any

import httpx
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient

NAMES = ["execute", "get_operation", "cancel_operation", "list_packages"]
GIVEN = json.loads(os.environ["GEARBOX_CLIENT"])
TOLD: list[str | None] = []


def equal(got: object, want: object) -> None:
    """Fail with both sides in view."""
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


async def hear(_progress: float, _total: float | None, message: str | None, _context: Any) -> None:
    """Note what is told of a call that lasts."""
    TOLD.append(message)


async def tools(token: str | None) -> dict[str, BaseTool]:
    """List the tools, each of whose calls is a session of its own."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    gearbox = {"transport": "http", "url": GIVEN["url"], "headers": headers}
    client = MultiServerMCPClient({"gearbox": gearbox}, callbacks=Callbacks(on_progress=hear))
    return {tool.name: tool for tool in await client.get_tools()}


async def call(tool: BaseTool, **arguments: Any) -> tuple[str, dict[str, Any], str]:
    """Call a tool as an agent does: its text, its structured answer and how it went."""
    message = await tool.ainvoke({"type": "tool_call", "id": "1", "name": tool.name, "args": arguments})
    equal([block["type"] for block in message.content], ["text"])
    artifact = message.artifact or {}
    return message.content[0]["text"], artifact.get("structured_content", {}), message.status


async def answers(execute: BaseTool) -> None:
    """Run, fail and be rejected."""
    text, answer, status = await call(execute, code="print(6*7)")
    equal((text, answer["status"], status), ("42\n", "ok", "success"))
    text, _, status = await call(execute, code="1/0")
    equal(("ZeroDivisionError" in text, status), (True, "error"))
    text, _, status = await call(execute, code="print(1)", no_such_argument=1)
    equal(("no_such_argument" in text, status), (True, "error"))


async def progress(execute: BaseTool) -> None:
    """Be told after a second, and then every ten, of a call that lasts."""
    _, answer, _ = await call(execute, code="import time; time.sleep(3)", timeout_seconds=60)
    equal(answer["status"], "ok")
    equal((TOLD[0] or "").split(" as operation ")[0], "running for 1s")


async def reconnects(execute: BaseTool) -> None:
    """Find an operation again from another client of the same principal."""
    code = "import time; time.sleep(2); print('done')"
    _, running, _ = await call(execute, code=code, timeout_seconds=60, wait_seconds=0)
    equal(running["status"], "running")
    again = await tools(GIVEN["token"])
    _, ended, _ = await call(again["get_operation"], operation_id=running["operation_id"], wait_seconds=60)
    equal(ended["stdout"], "done\n")
    _, slow, _ = await call(execute, code="import time; time.sleep(60)", timeout_seconds=90, wait_seconds=0)
    _, cancelled, _ = await call(again["cancel_operation"], operation_id=slow["operation_id"])
    equal(cancelled["status"], "cancelled")


async def operations(token: str) -> list[dict[str, Any]]:
    """List a principal's operations."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http:
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


async def cancels(execute: BaseTool) -> None:
    """Give up a call: the adapter's client ends its session, and with it the run that nobody waits for."""
    arguments = {"code": "sleep 71", "language": "bash", "timeout_seconds": 90, "wait_seconds": 90}
    task = asyncio.ensure_future(call(execute, **arguments))
    await until("an operation in bash is there", lambda o: o["language"] == "bash")
    task.cancel()
    await asyncio.wait([task])
    equal(task.cancelled(), True)
    await until("it is cancelled", lambda o: o["language"] == "bash" and o.get("status") == "cancelled")


async def strangers(mine: dict[str, BaseTool]) -> None:
    """See nothing of another principal's operations."""
    _, answer, _ = await call(mine["execute"], code="'mine'")
    operation = {"operation_id": answer["operation_id"]}
    stranger = await tools(GIVEN["other"])
    for name in ("get_operation", "cancel_operation"):
        text, _, status = await call(stranger[name], **operation)
        equal(("NOT_FOUND" in text, status), (True, "error"))
    equal(await operations(GIVEN["other"]), [])
    _, again, _ = await call(mine["get_operation"], **operation)
    equal(again["value"], "mine")


def leaves(error: BaseException) -> list[BaseException]:
    """Unfold groups of exceptions, as task groups raise them."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for e in error.exceptions for leaf in leaves(e)]
    return [error]


async def unauthorized(attempt: Any) -> None:
    """Be turned away. The adapter's client raises that as an error of HTTP."""
    try:
        await attempt
    except Exception as error:
        causes = leaves(error)
        equal([type(e) for e in causes], [httpx.HTTPStatusError])
        equal([e.response.status_code for e in causes if isinstance(e, httpx.HTTPStatusError)], [401])
        return
    raise AssertionError("a token that is not valid was taken")


async def main() -> None:
    """Do all of it."""
    mine = await tools(GIVEN["token"])
    equal(list(mine)[:4], NAMES)
    execute = mine["execute"]
    await asyncio.gather(answers(execute), progress(execute), reconnects(execute), cancels(execute))
    await strangers(mine)
    await unauthorized(tools("gbx_wrong"))
    await unauthorized(tools(None))
    held = await tools(GIVEN["doomed"])
    await call(held["execute"], code="1")
    subprocess.run(GIVEN["revoke"], check=True, capture_output=True)
    await unauthorized(call(held["execute"], code="1"))


asyncio.run(main())
print("ok")
