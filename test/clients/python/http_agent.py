"""An agent of the OpenAI Agents SDK that runs code through Gearbox over HTTP.

The connection is the one of docs/clients.md, the module gearbox_openai here. The model is
a script on the loopback interface.

Usage: python http_agent.py
"""

import asyncio
import json
import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from gearbox_openai import gearbox
from openai import AsyncOpenAI

GIVEN = json.loads(os.environ["GEARBOX_CLIENT"])
URL = GIVEN["url"]
OPERATION: dict[str, str] = {}


def equal(got: object, want: object) -> None:
    """Fail with both sides in view."""
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def text(content: Any) -> str:
    """Join what a tool said."""
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def reply(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Make the step that follows from the conversation so far."""
    said = [text(m["content"]) for m in messages if m["role"] == "tool"]
    code = "import time; time.sleep(1); print('kept')"
    match len(said):
        case 0:
            name, arguments = "execute", {"code": "print(6*7)"}
        case 1:
            equal("42" in said[0], True)
            name, arguments = "execute", {"code": "1/0"}
        case 2:
            equal("ZeroDivisionError" in said[1], True)
            name, arguments = "execute", {"code": code, "timeout_seconds": 60, "wait_seconds": 0}
        case 3:
            found = re.search(r"op_\w+", said[2])
            OPERATION["operation_id"] = found[0] if found else ""
            name, arguments = "get_operation", {**OPERATION, "wait_seconds": 30}
        case _:
            return {"content": "The tool said: " + said[-1]}
    call = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": f"call_{len(said)}", "type": "function", "function": call}]}


class Model(BaseHTTPRequestHandler):
    """The completions endpoint of the scripted model."""

    def do_POST(self) -> None:  # noqa: N802, the name is the library's
        """Answer one completion."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = reply(request["messages"])
        choice = {
            "index": 0,
            "message": {"role": "assistant", **message},
            "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
        }
        body = {
            "id": "completion",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [choice],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the output of the test to its point."""


async def converse(port: int) -> None:
    """Let the agent do its task."""
    endpoint = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
    async with gearbox(URL, GIVEN["token"]) as server:
        agent = Agent(
            name="calculator",
            instructions="Compute with execute.",
            model=OpenAIChatCompletionsModel(model="scripted", openai_client=endpoint),
            mcp_servers=[server],
        )
        answer = str((await Runner.run(agent, "What is six times seven?")).final_output)
    equal("kept" in answer, True)


async def unauthorized(token: str) -> None:
    """Be turned away."""
    try:
        async with gearbox(URL, token):
            pass
    except Exception as error:
        causes, text = [error], ""
        while causes:
            cause = causes.pop()
            text += repr(cause)
            causes += getattr(cause, "exceptions", [])
            causes += [e for e in (cause.__cause__,) if isinstance(e, Exception)]
        equal("a valid token is needed" in text or "401" in text, True)
        return
    raise AssertionError("a token that is not valid was taken")


async def others() -> None:
    """Find the operation from another connection, and not as somebody else."""
    async with gearbox(URL, GIVEN["token"]) as again:
        kept = await again.call_tool("get_operation", OPERATION)
        equal(kept.structured_content["stdout"], "kept\n")
    async with gearbox(URL, GIVEN["other"]) as stranger:
        answer = await stranger.call_tool("get_operation", OPERATION)
        equal(answer.structured_content["error"]["code"], "NOT_FOUND")
    await unauthorized("gbx_wrong")
    async with gearbox(URL, GIVEN["doomed"]) as held:
        await held.call_tool("execute", {"code": "1"})
    subprocess.run(GIVEN["revoke"], check=True, capture_output=True)
    await unauthorized(GIVEN["doomed"])


def main() -> None:
    """Serve the model, run the agent, check what it says."""
    set_tracing_disabled(True)
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    asyncio.run(converse(model.server_port))
    asyncio.run(others())
    model.shutdown()


main()
print("ok")
