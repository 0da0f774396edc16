"""An MCP server over stdio whose tools tell what they see of the machine."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
from typing import Any

TOOLS = {
    "read": lambda of: open(of, encoding="utf-8").read(),
    "list": lambda of: " ".join(sorted(os.listdir(of))),
    "connect": lambda of: str(socket.create_connection(("127.0.0.1", int(of)), 5)),
    "environment": lambda _: json.dumps(dict(os.environ)),
    "processor": lambda _: str(resource.getrlimit(resource.RLIMIT_CPU)[0]),
    "write": lambda of: str(open(of, "w", encoding="utf-8").write("x")),
    "hold": lambda of: str(len(bytearray(int(of)))),
}


def call(name: str, of: str) -> str:
    try:
        return TOOLS[name](of)
    except OSError as error:
        return f"{type(error).__name__}: {error}"


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "looking", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": call(params["name"], params["arguments"].get("of", ""))}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    result = answer(message["method"], message.get("params", {}))
    if result is None:
        reply["error"] = {"code": -32601, "message": "no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
