package cli

import (
	"strings"
	"testing"
)

func TestPoolSettingsOutOfRangeNameTheFlagAndWhatIsAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"none at once":        {[]string{"--concurrency", "0"}, []string{"--concurrency 0", "1 to 1024"}},
		"too many at once":    {[]string{"--concurrency", "1025"}, []string{"--concurrency 1025", "1 to 1024"}},
		"less than none":      {[]string{"--pool-size", "-1"}, []string{"--pool-size -1", "0 to 4096"}},
		"no room at all":      {[]string{"--pool-max", "0"}, []string{"--pool-max 0", "1 to 4096"}},
		"more than in all":    {[]string{"--pool-size", "8", "--pool-max", "4"}, []string{"--pool-size 8", "--pool-max 4"}},
		"not a number":        {[]string{"--pool-size", "many"}, []string{`"many"`, "--pool-size", "no number"}},
		"not a time":          {[]string{"--pool-idle", "5"}, []string{`"5"`, "--pool-idle", "90s"}},
		"idle at once":        {[]string{"--pool-idle", "0s"}, []string{"--pool-idle 0s", "1s to 720h"}},
		"always new":          {[]string{"--recycle-runs", "0"}, []string{"--recycle-runs 0", "1 to 1000000"}},
		"older than a month":  {[]string{"--recycle-age", "721h"}, []string{"--recycle-age 721h", "1m0s to 720h"}},
		"a negative rate":     {[]string{"--principal-rate", "-1"}, []string{"--principal-rate -1", "0 to 1000000"}},
		"too many at work":    {[]string{"--principal-concurrency", "1000001"}, []string{"--principal-concurrency 1000001", "0 to 1000000"}},
		"younger than minute": {[]string{"--recycle-age", "59s"}, []string{"--recycle-age 59s", "1m0s to 720h"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, "", append([]string{"serve", "--data-dir", t.TempDir()}, c.args...)...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is not in %q", want, stderr)
				}
			}
		})
	}
}

func TestOnlyServersHavePoolSettings(t *testing.T) {
	for _, name := range []string{"exec", "doctor"} {
		if code, _, stderr := command(t, "", name, "--pool-size", "1"); code != exitUsage || !strings.Contains(stderr, "unknown flag") {
			t.Errorf("%s: exit code %d, %q", name, code, stderr)
		}
	}
}
