package engine

import "testing"

func TestTheShareOfAPrincipalLeavesRoomForWhoComesNext(t *testing.T) {
	for _, row := range []struct{ queue, principals, want int }{
		{260, 1, 130},
		{260, 2, 86},
		{260, 3, 65},
		{260, 259, 1},
		{260, 10_000, 1}, // who has none is taken on as long as there is room at all
		{2, 2, 1},
		{1, 1, 1},
	} {
		if got := share(row.queue, row.principals); got != row.want {
			t.Errorf("%+v: %d", row, got)
		}
		if all := row.principals * share(row.queue, row.principals); row.principals < row.queue && all > row.queue {
			t.Errorf("%+v: the shares together are %d", row, all)
		}
	}
}
