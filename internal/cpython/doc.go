// Package cpython provides the Python interpreter that programs run in: the one
// that is embedded in the binary, or one that the operator names.
//
// What belongs here: unpacking, sealing, checking, byte-compiling and repairing
// the embedded interpreter, and finding out what an operator's interpreter needs.
// What does not: mounting it, running programs of users, installing packages.
//
// # The directory
//
// Everything lives in <data directory>/python, which is private (0700):
//
//	lock             held while the manifest or the set of trees changes
//	compile.lock     held by the one process that byte-compiles
//	manifest.json    names the current tree and every file in it
//	tree-XXXXXXXX/   lease, held shared by each process that uses the tree
//	                 python/, the interpreter: directories 0755, files 0444 or 0555
//
// The modes inside a tree let every uid read it, because root maps to another uid
// inside a user namespace; the private parent keeps other users out.
//
// # One rule
//
// The manifest is the only pointer to a tree, and a rename is the only way it
// changes. A tree is filled under its final name, synced, and becomes current when
// the manifest that names it is renamed into place. A directory that no manifest
// names is nothing: whoever holds the lock removes it once its lease can be had
// exclusively, which the kernel makes possible at the death of the last process
// that held it. So a process that is killed half-way, and a full disk, leave only
// what the next start sweeps away, and a tree that is mounted somewhere is never
// removed below a running program. A byte-compiled tree is a full copy: hard links
// would change the ctime of files whose ctime is part of the seal.
//
// # The seal
//
// The module that carries the interpreter tells files apart by their sizes alone.
// So each tree is unpacked into an empty directory, hashed, and compared with the
// digest in pins.json, which was derived from the embedded data and is part of this
// binary; a manifest can therefore not vouch for other sources than the embedded
// ones. Each start compares size, mode, owner, mtime, ctime and inode of every file
// with the manifest and looks for files that it does not list. Where only the times
// or the inode differ, as after restoring a backup, contents decide. [Verify] reads
// every file. Whatever does not match is a [TamperedError] and is never run;
// [Repair] unpacks a fresh tree.
package cpython
