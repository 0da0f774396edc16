"""A server of the official Python SDK with what such servers commonly have."""

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("py")


class Person(BaseModel):
    name: str
    age: int


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def person(name: str) -> Person:
    """Find a person."""
    return Person(name=name, age=36)


@server.tool()
def people() -> list[Person]:
    """List people."""
    return [Person(name="Ada", age=36), Person(name="Grace", age=45)]


@server.tool()
def nothing() -> None:
    """Do nothing."""


@server.tool()
def text() -> str:
    """Return text that looks like JSON and is declared as text."""
    return '{"looks": "like JSON"}'


@server.tool()
def image() -> Image:
    """Return the first bytes of a picture."""
    return Image(data=b"\x89PNG\r\n\x1a\n", format="png")


@server.tool()
async def progress(steps: int, ctx: Context) -> int:
    """Report progress and log on the way."""
    for step in range(steps):
        await ctx.report_progress(step, steps)
        await ctx.info(f"step {step}")
    return steps


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ToolError(why)


@server.tool()
def optional(limit: int = 10, tags: list[str] | None = None) -> dict[str, int | list[str] | None]:
    """Take what has defaults."""
    return {"limit": limit, "tags": tags}


if __name__ == "__main__":
    server.run()
