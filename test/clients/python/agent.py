"""An agent of the OpenAI Agents SDK that runs code through Gearbox.

The model is a script on the loopback interface: it calls execute once and then
says what the tool answered.

Usage: python agent.py COMMAND ARG…
"""

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """Answer as the scripted model: a tool call first, then the tool's own words."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        content = last["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        return {"role": "assistant", "content": "The tool said: " + text}
    names = [tool["function"]["name"] for tool in request["tools"]]
    if "execute" not in names:
        raise AssertionError(f"the model sees no execute among {names}")
    call = {"name": "execute", "arguments": json.dumps({"code": "print(6*7)"})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
    }


class Model(BaseHTTPRequestHandler):
    """The completions endpoint of the scripted model."""

    def do_POST(self) -> None:  # noqa: N802, the name is the library's
        """Answer one completion."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = reply(request)
        choice = {
            "index": 0,
            "message": message,
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


async def run(port: int) -> str:
    """Let the agent do its task."""
    set_tracing_disabled(True)
    endpoint = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
    params = {"command": sys.argv[1], "args": sys.argv[2:]}
    async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as server:
        agent = Agent(
            name="calculator",
            instructions="Compute with execute.",
            model=OpenAIChatCompletionsModel(model="scripted", openai_client=endpoint),
            mcp_servers=[server],
        )
        return str((await Runner.run(agent, "What is six times seven?")).final_output)


def main() -> None:
    """Serve the model, run the agent, check what it says."""
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    answer = asyncio.run(run(model.server_port))
    model.shutdown()
    if "42" not in answer:
        raise AssertionError(f"the agent said {answer!r}")


main()
print("ok")
