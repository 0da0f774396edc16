// Package clientconfig puts Gearbox into the configuration files of MCP clients
// and takes it out again.
//
// What belongs here: where each client keeps its file, how its server entry
// looks, an editor that changes that one entry and nothing else, and the careful
// replacement of such a file. What does not: flags, prompts, printing (cli), and
// reading server lists in order to connect to them (upstream).
//
// A configuration file belongs to a person and often holds secrets of other
// servers, so the editor keeps these promises:
//
//   - every byte outside the entry stays: comments, trailing commas, line ends,
//     byte order mark. The result is parsed again and compared with the original
//     before anything is written;
//   - a file that cannot be parsed is an error that names the line, and is left alone;
//   - the previous content is kept beside the file, and no earlier backup is overwritten;
//   - the new content appears by rename, with the old mode and owner, or not at all;
//   - installing twice writes once;
//   - uninstalling gives back the exact bytes from before when nothing else was
//     changed in between.
package clientconfig
