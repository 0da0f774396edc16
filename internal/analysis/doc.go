// Package analysis turns what a parser found in a program into permissions.
//
// The facts on Python come from the guest (internal/guest, analyser.py), out of a
// child in which no user code has run; those on bash from the package shell below,
// which a host runs itself. They are checked here all the same: a parser that
// met hostile text may have been brought to say anything. This room reads facts,
// bounds the size of sources and shows lines of them; it decides nothing (policy
// does), starts nothing and looks at no file.
//
// Facts say early and by line what a program would do. They are an aid: a
// program can hide its intent from any analysis, and the sandbox holds without it.
//
// # What is reported
//
// The kinds are those of policy. Targets are constants of the source, followed
// through names, joins and formats:
//
//	import   the module, dotted; also by __import__ and importlib with a constant
//	read     the path handed to open, Path and the like
//	write    the same with a mode that may write
//	net      host:port of an address handed to a network call
//	run      the program, with its directory if the source names one; * when computed
//	env      the variable that is read
//	install  the distribution, from pip and from inline script metadata
//	unsafe   a word that says how the program reaches past analysis
//
// Words in texts and comments count nowhere. What no constant names is reported
// for programs alone, of which there are few; a computed path or host shows
// itself when it is used.
//
// The words of unsafe are listed in analyser_rules.py, those for bash in package
// shell. The choice of attributes by a variable (getattr) is reported for modules,
// literals and names that are put together from pieces, not for a program's own
// objects: honest programs dispatch that way all the time, and what they could
// reach by it is refused by its spelling.
package analysis
