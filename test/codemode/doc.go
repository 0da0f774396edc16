// Package codemode drives the real binary as a client does, with MCP servers behind it
// whose tools programs call: the official reference servers in JavaScript, one of the
// Python SDK, and servers that do wrong whatever can be done wrong. It proves that honest
// servers work, that each bad one fails alone, and that neither a server nor a program gets
// at what it is not given.
//
// What belongs here is what needs all of it at once: a client, the product, a sandbox and
// another process that answers. How each part behaves is tested beside it.
//
// test/clients/setup.sh installs the reference servers; what is not installed is skipped by
// name.
package codemode
