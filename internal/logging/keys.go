package logging

// The keys of log lines. One name per idea, so that a query written once goes on
// working.
const (
	KeyOperation  = "operation_id"      // the operation that the line is about
	KeyPrincipal  = "principal"         // who asked
	KeyClient     = "client"            // what the other end calls itself
	KeySession    = "session"           // the session of the client
	KeyGear       = "gear"              // the gear in force
	KeyCode       = "code_sha256"       // digest of language and source
	KeyPermission = "permission"        // what was decided on
	KeyDecision   = "decision"          // allow, ask or deny
	KeyRule       = "rule"              // the rule that decided
	KeyReason     = "reason"            // why
	KeyStatus     = "status"            // how an execution ended
	KeyExitCode   = "exit_code"         // of the program
	KeyDuration   = "duration_ms"       // wall time of the program
	KeyCPU        = "cpu_ms"            // processor time of the program
	KeyMemoryPeak = "memory_peak_bytes" // the most memory that the program held at one time
	KeyError      = "error"             // what failed
	KeyUpstream   = "upstream"          // the server of another that a program or the operator uses
)
