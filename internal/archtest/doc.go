// Package archtest holds the rules of the house as tests: which room may import
// which, where processes are started, how long a file may be, and that documents
// agree with the code. Each rule stands beside its reason.
//
// It reads the source text of the whole repository and belongs to no room: the
// package has no code but tests, and nothing may import it. Rules that
// golangci-lint can state (.golangci.yml) are repeated here where losing them
// would weaken a security property, because these tests need nothing but Go.
package archtest
