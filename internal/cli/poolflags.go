package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/gearbox-mcp/gearbox/internal/sidecar"
)

// poolSetting is a flag of serve that has a default of its own as long as nothing is
// said, which no number stands for.
type poolSetting struct {
	pflag.Value

	name, usage string
}

// poolSettings are the flags that say how many programs run at once and what stands
// ready for the next ones.
func poolSettings(o *sidecar.PoolOptions) []poolSetting {
	return []poolSetting{
		{number(&o.Concurrency), "concurrency", "run at most `N` programs at once (default: 2 for each core)"},
		{number(&o.Size), "pool-size", "keep `N` sandboxes of one kind ready, 0 for none (default: as --concurrency)"},
		{number(&o.Max), "pool-max", "keep at most `N` sandboxes of all kinds ready (default: 4 for each core, or --pool-size)"},
		{duration(&o.Idle), "pool-idle", "keep one sandbox of a kind that is not used for `TIME` (default: 5m)"},
		{number(&o.RecycleRuns), "recycle-runs", "replace a fork server after `N` sandboxes (default: 10000)"},
		{duration(&o.RecycleAge), "recycle-age", "replace a fork server after `TIME` (default: 1h)"},
	}
}

func addPoolFlags(fs *pflag.FlagSet, o *sidecar.PoolOptions) {
	for _, s := range poolSettings(o) {
		fs.Var(s.Value, s.name, s.usage)
	}
}

// optional is the value of a flag that may be left open.
type optional[T any] struct {
	to    **T
	parse func(string) (T, error)
	write func(T) string
	kind  string
}

func number(to **int) pflag.Value {
	return &optional[int]{to, strconv.Atoi, strconv.Itoa, "number"}
}

func duration(to **time.Duration) pflag.Value {
	return &optional[time.Duration]{to, time.ParseDuration, time.Duration.String, "time such as 90s, 5m or 1h"}
}

// Set implements [pflag.Value].
func (v *optional[T]) Set(s string) error {
	parsed, err := v.parse(s)
	if err != nil {
		return fmt.Errorf("this is no %s", v.kind)
	}
	*v.to = &parsed
	return nil
}

// String implements [pflag.Value].
func (v *optional[T]) String() string {
	if v.to == nil || *v.to == nil {
		return ""
	}
	return v.write(**v.to)
}

// Type implements [pflag.Value].
func (v *optional[T]) Type() string { return v.kind }
