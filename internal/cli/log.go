package cli

import (
	"io"
	"log/slog"
)

// logSettings are empty where nothing is said.
type logSettings struct{ level, format string }

// leveledLog is the log of a server. Its level can be changed.
type leveledLog struct {
	*slog.Logger

	level slog.LevelVar
}

func newLeveledLog(w io.Writer, s logSettings) *leveledLog {
	l := &leveledLog{}
	l.set(s)
	o := &slog.HandlerOptions{Level: &l.level}
	var h slog.Handler = slog.NewJSONHandler(w, o)
	if s.format == "text" {
		h = slog.NewTextHandler(w, o)
	}
	l.Logger = slog.New(h)
	return l
}

// set takes up what a running server can.
func (l *leveledLog) set(s logSettings) {
	level := slog.LevelInfo
	if s.level != "" {
		_ = level.UnmarshalText([]byte(s.level)) // the table has the words that it knows
	}
	l.level.Set(level)
}
