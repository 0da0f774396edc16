// Package seccomp makes the system call filters of the Linux sandbox: an
// allow-list compiled to a classic BPF program. A filter is data; this package
// installs nothing.
//
// There are these programs:
//
//   - [Cell] is the ceiling of a child in namespaces of its own. Numbers it does
//     not know return ENOSYS, numbers it knows and refuses return EPERM, and no
//     number kills: a program that probes for a new system call must find the old
//     way. [CellWithoutQuotas] is for user namespaces without quotas.
//   - [Bare] is the ceiling of a child without namespaces: Cell without all that
//     a namespace would have kept from reaching others.
//   - [Reaper] leaves the trusted process 1 of a child nothing but waiting, and
//     [Keeper] leaves the process that stands in for it waiting and killing.
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
