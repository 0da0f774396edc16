// Package serverfile reads the files in which MCP servers are configured, those of other
// programs as they are, and writes Gearbox's own.
//
// What belongs here: what such a file may look like (JSON with comments, TOML, YAML; each
// program's keys), what its values expand to, and what is wrong with it. What does not:
// where programs keep their files (clientconfig), starting or reaching a server (upstream).
//
// # A file
//
// The servers stand below mcpServers, servers, mcp_servers, context_servers or mcp at the
// root, by name; in YAML also below extensions. Where a program has a word of its own for
// a key (cmd, serverUrl, http_headers, …) it means the same in every file. A number that
// stands for a time is seconds below 1,000 and milliseconds from there on.
//
// # Expansions
//
// In command, args, env, envFile, cwd, url, headers and the client of oauth:
//
//	${VAR} ${env:VAR}     the variable
//	${VAR:-text}          text where the variable is not set or empty
//	${input:id}           the variable INPUT_ID: nobody is asked
//	${userHome}           the home directory
//	${workspaceFolder}    the project of the file, or else the working directory
//	$${                   the characters ${
//
// Nothing is expanded twice, and no shell is involved. What cannot be expanded is never
// passed on as it is written: the server has a fault that names it.
//
// # Invariants
//
//   - Only the named files are read, and the env files that they or the operator name; all of
//     them bounded in size, none of them a pipe or a device.
//   - A file that cannot be read is an error with its place. A server that cannot be used as
//     it is written has a fault of its own, and the others work.
//   - What restricts a server (a list of tools, disabled) is followed or is a fault; what
//     loosens our rules (autoApprove) is not followed, and said.
//   - No error or warning holds a value of env, headers or an env file.
package serverfile
