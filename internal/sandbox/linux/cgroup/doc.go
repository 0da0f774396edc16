// Package cgroup bounds groups of processes with the kernel's control groups,
// version 2 where it is delegated to this process and version 1 where its
// hierarchies can be written, as root can.
//
// What belongs here: finding a place for groups, making, filling, reading and
// removing them (cgroups(7), Documentation/admin-guide/cgroup-v2.rst). What does
// not: which processes go in, and what a number means for a run.
//
// Where nothing is delegated [Find] says why, and its caller does without: the
// limits are then those of setrlimit(2) and of a watcher, which are less exact.
package cgroup
