// Package linux isolates programs with the Linux kernel alone: user, mount, pid,
// network, ipc, uts and cgroup namespaces, a read-only root, Landlock, seccomp
// and resource limits. It needs no privilege, no daemon and no helper binary.
//
// # The processes
//
//	host process
//	└─ init            this binary again, in fresh namespaces: builds the root, then becomes
//	   fork server     the trusted guest, process 1 of the outer pid namespace
//	   ├─ nursery      left by init before the interpreter was there: makes reapers
//	   │  └─ reaper    process 1 of a child's pid namespace: adopts orphans, does nothing
//	   └─ cell         process 2 of it: sealed, then given the program
//
// A child is one reaper with one cell. When the reaper dies the kernel kills
// everything in its namespace, and when the fork server dies the kernel kills all
// children, so that no path leaves a process behind.
//
// # Levels
//
// Where the kernel refuses a /proc, children have none (level no-proc). Where it
// refuses user namespaces, the same processes run without any (level no-userns): the
// reaper is then a keeper that kills the cell's process group, Landlock says what may
// be read, the filter is tighter, and a child works in a private directory. Below
// that nothing runs. levels.go decides, bare.go and shelter.go build the last one.
//
// Level full needs Linux 5.14: mount_setattr (5.12), Landlock (5.13), and process limits
// that count within a user namespace (5.14).
//
// # Trust
//
// The guest Python seals the cell, but its word counts for nothing. Before any
// user code the host looks at both processes from outside (see check.go): a child
// that is not exactly as tight as it has to be ends its fork server.
//
// As an ordinary user the sandbox's user 0 is that user. As root it is the host
// user [SandboxUID], which owns nothing.
//
// What belongs here: building, sealing, checking and ending children. What does
// not: which limits and programs a run gets (gear), which children exist (pool),
// and what is said on the bridge (engine).
package linux
