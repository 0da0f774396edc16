package execution

// Status is how an execution stands or ended. What the program or the policy
// did is a Status; a Go error is a failure of Gearbox itself.
type Status string

// The statuses of design: the last two groups are not final.
const (
	StatusOK            Status = "ok"
	StatusError         Status = "error" // the program failed
	StatusTimeout       Status = "timeout"
	StatusMemoryLimit   Status = "memory_limit"
	StatusOutputLimit   Status = "output_limit"
	StatusProcessLimit  Status = "process_limit"
	StatusDiskLimit     Status = "disk_limit"
	StatusDenied        Status = "denied"
	StatusCancelled     Status = "cancelled"
	StatusInterrupted   Status = "interrupted" // the server that ran it is gone
	StatusInternalError Status = "internal_error"
	StatusRejected      Status = "rejected" // malformed: no operation was made

	StatusPendingApproval Status = "pending_approval"
	StatusRunning         Status = "running"
)

// Statuses lists every status.
func Statuses() []Status {
	return []Status{
		StatusOK, StatusError, StatusTimeout, StatusMemoryLimit, StatusOutputLimit, StatusProcessLimit,
		StatusDiskLimit, StatusDenied, StatusCancelled, StatusInterrupted, StatusInternalError, StatusRejected,
		StatusPendingApproval, StatusRunning,
	}
}

// Final reports whether the status can no longer change.
func (s Status) Final() bool { return s != StatusPendingApproval && s != StatusRunning }

// Code is the machine-readable reason in an answer's error.
type Code string

// The error codes. A program's own failure carries the class name of its
// exception instead.
const (
	CodePolicyViolation Code = "POLICY_VIOLATION"
	CodeTimeout         Code = "TIMEOUT"
	CodeMemoryLimit     Code = "MEMORY_LIMIT"
	CodeOutputLimit     Code = "OUTPUT_LIMIT"
	CodeProcessLimit    Code = "PROCESS_LIMIT"
	CodeDiskLimit       Code = "DISK_LIMIT"
	CodeCancelled       Code = "CANCELLED"
	CodeInterrupted     Code = "INTERRUPTED"
	CodeInvalidArgument Code = "INVALID_ARGUMENT"
	CodeNotFound        Code = "NOT_FOUND"
	CodeUnavailable     Code = "UNAVAILABLE"
	CodeInternal        Code = "INTERNAL"
)
