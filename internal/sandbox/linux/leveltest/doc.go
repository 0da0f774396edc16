// Package leveltest runs a command of a test where the kernel refuses a part of the
// sandbox: in an outer user namespace in which user namespaces are used up, or in which
// parts of /proc are covered. It is for tests, which re-execute their own binary.
//
// What belongs here: spoiling namespaces. What does not: what is run in them.
package leveltest
