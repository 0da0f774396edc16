package clientconfig

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Frameworks are the agent frameworks for which [Snippet] knows code to paste:
// they are programs, so there is no file to edit.
func Frameworks() []string { return []string{"openai-agents", "langchain"} }

// Snippet is the text that a person would paste for a client or framework.
func Snippet(name string, e Entry) (string, error) {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "openai-agents":
		return openAIAgents(e), nil
	case "langchain":
		return langChain(e), nil
	}
	c, err := ParseClient(name)
	if err != nil {
		return "", fmt.Errorf("%w, or with --print: %s", err, strings.Join(Frameworks(), ", "))
	}
	text, err := c.format().add(nil, e)
	return string(text), err
}

func openAIAgents(e Entry) string {
	return fmt.Sprintf(`import asyncio

from agents import Agent, Runner
from agents.mcp import MCPServerStdio


async def main() -> None:
    params = {"command": %s, "args": %s}
    async with MCPServerStdio(params=params, name="gearbox", client_session_timeout_seconds=60) as gearbox:
        agent = Agent(name="Analyst", instructions="Run Python to find answers.", mcp_servers=[gearbox])
        result = await Runner.run(agent, "What is the 20th prime?")
        print(result.final_output)


asyncio.run(main())
`, pythonString(e.Command), pythonList(e.Args))
}

func langChain(e Entry) string {
	return fmt.Sprintf(`import asyncio

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main() -> None:
    client = MultiServerMCPClient(
        {"gearbox": {"transport": "stdio", "command": %s, "args": %s}}
    )
    agent = create_agent("openai:gpt-5", await client.get_tools())
    result = await agent.ainvoke({"messages": [{"role": "user", "content": "What is the 20th prime?"}]})
    print(result["messages"][-1].content)


asyncio.run(main())
`, pythonString(e.Command), pythonList(e.Args))
}

// pythonString writes a Python literal: the escapes of JSON mean the same there.
func pythonString(s string) string { return string(hujson.String(s)) }

func pythonList(items []string) string {
	quoted := slices.Clone(items)
	for i, s := range quoted {
		quoted[i] = pythonString(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
