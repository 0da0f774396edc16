package tool

// Class is why a call has no value. The names are those of the Python exceptions.
type Class string

// The classes.
const (
	Failed      Class = "ToolError"         // the tool says so itself
	NotFound    Class = "ToolNotFound"      //
	Invalid     Class = "InvalidArguments"  // nothing was sent
	Timeout     Class = "ToolTimeout"       // it may have had an effect
	Unavailable Class = "ServerUnavailable" // the server is not there, or went away
	Unapproved  Class = "ApprovalDenied"    // a human said no, or nobody answered
	Denied      Class = "PolicyDenied"      // a rule refuses it
	Exceeded    Class = "CallLimitExceeded" // the run has made its calls
)

// Error is why a call has no value, in words for a model.
type Error struct {
	Class   Class
	Message string
	Server  string
	Tool    string // the raw name
	// Problems are what is wrong with arguments, a sentence each.
	Problems []string
}

func (e *Error) Error() string { return string(e.Class) + ": " + e.Message }
