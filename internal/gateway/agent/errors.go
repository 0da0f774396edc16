package agent

import "errors"

var (
	// ErrTime says that the time of the task was over.
	ErrTime = errors.New("the time of the task is over")
	// ErrBudget says that the characters that a task may send and receive were used up.
	ErrBudget = errors.New("the budget of the task is used up")
	// ErrNoProgram says that the model went on answering without one program.
	ErrNoProgram = errors.New("the model wrote no program")
	// ErrUndecided says that the model looked around as often as it may, and ended nothing.
	ErrUndecided = errors.New("the model came to no end")
	// ErrModel says that the model could not be asked, or gave no answer.
	ErrModel = errors.New("ask the model")
	// ErrRefused says that the model, or a filter before it, refused the task.
	ErrRefused = errors.New("the model refused")
)

// Tellable reports whether an error is about the task, its bounds or its model, so that
// whoever gave the task may read it. Every other one is a failure of ours.
func Tellable(err error) bool {
	for _, e := range []error{ErrTime, ErrBudget, ErrNoProgram, ErrUndecided, ErrModel, ErrRefused} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
