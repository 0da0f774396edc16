// Package seccomp makes the system call filters of the Linux sandbox: an
// allow-list compiled to a classic BPF program. A filter is data; this package
// installs nothing.
//
// There are four programs:
//
//   - [Cell] is the ceiling of every child. Numbers it does not know return
//     ENOSYS, numbers it knows and refuses return EPERM, and no number kills:
//     a program that probes for a new system call must find the old way.
//   - [Reaper] leaves the trusted process 1 of a child nothing but waiting.
//   - [NoFork] and [NoExec] are stacked upon Cell when a run may not make new
//     processes or start new programs. The kernel takes the strictest verdict of
//     all filters of a process (seccomp(2)), so that stacking only narrows.
//
// A foreign architecture kills: its numbers mean other calls. The x32 numbers of
// amd64 return ENOSYS.
//
// What belongs here: which calls are let through, under which arguments, and
// why. What does not: capabilities, mounts and Landlock, which the guest sets.
package seccomp
