"""An agent of LangChain whose Gearbox server is killed and started again in mid-conversation.

The agent is the one of docs/clients.md, the module gearbox_langchain here. Its model is a
script on the loopback interface: it says what the agent does next, and when the server
dies and comes back.

Usage: python agent.py COMMAND ARG…, the server's without an address
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
from gearbox_langchain import AWAY, gearbox_agent
from langchain_openai import ChatOpenAI

GIVEN = json.loads(os.environ["GEARBOX_CLIENT"])
COMMAND = sys.argv[1:]


def equal(got: object, want: object) -> None:
    """Fail with both sides in view."""
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


class Server:
    """Gearbox, always on the address that it got the first time."""

    address = "127.0.0.1:0"

    def start(self) -> None:
        """Return when it answers."""
        self.process = subprocess.Popen([*COMMAND, "--http", self.address], stderr=subprocess.PIPE, text=True)
        stream = self.process.stderr
        assert stream
        for line in stream:
            said = json.loads(line)
            if said["msg"] == "answering over HTTP":
                self.address = said["address"].removeprefix("http://")
                threading.Thread(target=stream.read, daemon=True).start()
                return
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End it as an operator would."""
        self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(30), 0)

    def operations(self) -> list[dict[str, Any]]:
        """List those of the agent's principal."""
        headers = {"Authorization": f"Bearer {GIVEN['token']}"}
        answer = httpx.get(f"http://{self.address}/api/v1/operations", headers=headers)
        equal(answer.status_code, 200)
        found: list[dict[str, Any]] = answer.json()["operations"]
        return found


SERVER = Server()


def kill_in_the_middle() -> None:
    """Kill the server while a script in bash runs."""

    def run() -> None:
        while not any(o["language"] == "bash" and o["state"] == "running" for o in SERVER.operations()):
            time.sleep(0.05)
        SERVER.kill()

    threading.Thread(target=run, daemon=True).start()


# A step looks at what the last tool call said and has the next one made: its name and arguments.
Call = tuple[str, dict[str, Any]]
OPERATION = {}


def compute(_: str) -> Call:
    """Begin the conversation."""
    return "execute", {"code": "print(6*7)"}


def fail(said: str) -> Call:
    """Let a program fail."""
    equal(said, "42\n")
    return "execute", {"code": "1/0"}


def submit(said: str) -> Call:
    """Start what is not waited for."""
    equal("ZeroDivisionError" in said, True)
    code = "import time; time.sleep(1); print('kept')"
    return "execute", {"code": code, "timeout_seconds": 60, "wait_seconds": 0}


def fetch(said: str) -> Call:
    """Ask for its outcome."""
    found = re.search(r"op_\w+", said)
    if not found:
        raise AssertionError(f"the text names no operation: {said!r}")
    OPERATION["operation_id"] = found[0]
    return "get_operation", {**OPERATION, "wait_seconds": 30}


def lose(said: str) -> Call:
    """Make a call in whose middle the server dies."""
    equal("kept\n" in said, True)
    kill_in_the_middle()
    return "execute", {"code": "sleep 72", "language": "bash", "timeout_seconds": 90, "wait_seconds": 90}


def insist(said: str) -> Call:
    """Call while the server is away."""
    equal(said, AWAY)
    return "execute", {"code": "print(6*7)"}


def ask_again(said: str) -> Call:
    """Ask for the operation of before, now that there is a server again."""
    equal(said, AWAY)
    SERVER.start()
    return "get_operation", OPERATION


def go_on(said: str) -> Call:
    """Compute again."""
    equal("kept\n" in said, True)
    return "execute", {"code": "print(7*8)"}


STEPS: list[Callable[[str], Call]] = [compute, fail, submit, fetch, lose, insist, ask_again, go_on]


class Model(BaseHTTPRequestHandler):
    """The completions endpoint of the scripted model."""

    failure: Exception | None = None

    def do_POST(self) -> None:  # noqa: N802, the name is the library's
        """Answer one completion."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            message = self.reply(request["messages"])
        except Exception as failure:
            Model.failure = failure
            self.send_error(400, str(failure))
            return
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

    def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Make the step that follows from the conversation so far."""
        said = [text(m["content"]) for m in messages if m["role"] == "tool"]
        if len(said) == len(STEPS):
            return {"content": "The tool said: " + said[-1]}
        name, arguments = STEPS[len(said)](said[-1] if said else "")
        call = {"name": name, "arguments": json.dumps(arguments)}
        return {"content": None, "tool_calls": [{"id": f"call_{len(said)}", "type": "function", "function": call}]}

    def log_message(self, format: str, *args: object) -> None:
        """Keep the output of the test to its point."""


def text(content: Any) -> str:
    """Join what a tool said."""
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


async def converse(port: int) -> None:
    """Let the agent do its task."""
    model = ChatOpenAI(model="scripted", base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
    url = f"http://{SERVER.address}/mcp"
    agent = await gearbox_agent(model, url, GIVEN["token"], patience=timedelta(seconds=15))
    question = {"messages": [{"role": "user", "content": "What is six times seven?"}]}
    try:
        result = await agent.ainvoke(question, {"recursion_limit": 50})
    except Exception:
        if Model.failure:
            raise Model.failure from None
        raise
    equal(result["messages"][-1].content, "The tool said: 56\n")
    lost = [o for o in SERVER.operations() if o["language"] == "bash"]
    equal([o["status"] for o in lost], ["interrupted"])


def main() -> None:
    """Serve the model, run the agent, check what it says."""
    SERVER.start()
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    try:
        asyncio.run(converse(model.server_port))
        SERVER.stop()
    finally:
        SERVER.process.kill()
        model.shutdown()


main()
print("ok")
