package upstream

import "context"

// loginPath is empty: on Windows every program has the PATH of its user.
func (*searcher) loginPath(context.Context) string { return "" }
