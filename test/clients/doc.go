// Package clients drives the real binary with real MCP clients: the inspector,
// the official SDKs in TypeScript and Python, and agents of the OpenAI Agents SDK
// and LangChain whose models are scripts on the loopback interface. setup.sh
// installs them; what is not installed is skipped by name.
//
// Only what a client sees belongs here. That answers are right in every detail
// is the business of internal/mcpserver.
package clients
