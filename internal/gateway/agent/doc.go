// Package agent is the code-writing loop: a model gets a task and the tools in view,
// answers with a Python program, the program runs under the gear, and what went wrong goes
// back to the model a few times.
//
// What belongs here: what the model is told, what is read from its reply, when the loop
// ends, and the answer of run_agent. What does not: how a model is reached (endpoint,
// below), how tools are described (catalog), and whether anything may run: a program of a
// model passes the same door as every other.
//
// # How a model says what it wants
//
// In plain text, which every endpoint carries: one fenced block of Python is the program.
// Calls of tools that endpoints define themselves are not used: they differ from endpoint to
// endpoint, many local ones lack them, and a program in a JSON string costs tokens for its
// escapes. A program that ends with the line "# continue" is a look around: its output is
// shown to the model, which then goes on, or ends the task in words.
//
// # Invariants
//
//   - What a server says of its tools and what a program prints stands between marks that it
//     cannot forge, and is called data there. That is advice to a model and no wall: the wall
//     is the sandbox, and the door that each call passes.
//   - The number of requests, of programs, of characters and the time are bounded.
//   - What asks a human is handed up as it is. Nothing here decides for a human.
//   - No credential passes through here.
package agent
