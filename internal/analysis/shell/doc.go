// Package shell says what a bash program would do, before any of it runs. The
// facts are of the same form and kinds as those of the Python analyser. It parses
// text with mvdan.cc/sh, folds what is constant, and names programs, files, hosts
// and packages. It starts nothing, opens no file, looks nobody up and decides
// nothing (policy does).
//
// Facts are an aid, as in the room above: any command can be computed, and then
// the fact is run(*) or unsafe(dynamic_code). The sandbox holds without it.
//
// # What is reported
//
//	run      each command word that starts a program, through quotes, braces, variables,
//	         wrappers (env, xargs, find -exec, …) and nested code. Builtins, functions of
//	         the source and bash itself are none. * when it is computed.
//	read     constant paths of input redirections; absolute paths given to programs
//	write    constant paths of output redirections; absolute paths given to programs that write them
//	net      /dev/tcp and /dev/udp; addresses given to network programs
//	env      a variable in capitals that the source never sets, and the shell does not either
//	install  the packages of pip, uv, apt, npm and their kind
//	unsafe   dynamic_code    code that is computed, read from a file or piped into an interpreter
//	         environment     a variable that changes what commands mean: PATH, IFS, LD_PRELOAD, …
//	         native          a builtin loaded from a library (enable -f)
//	         unicode         characters that hide or reorder what a person reads
//	         unanalysable    beyond the bounds of this analysis
//
// A variable counts as constant when the source assigns it once, in a statement
// that certainly runs before the use; a function when its definition certainly
// does. Everything else is computed.
//
// # Bounds
//
// The parser is recursive and a Go stack overflow cannot be recovered, so the
// text is fed to it in pieces and feeding stops when the stack is deep. Sources,
// nested code, folded texts and facts are bounded; beyond a bound the fact is
// unsafe(unanalysable), and what was found before stays.
package shell
