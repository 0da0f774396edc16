package instance

import "github.com/gearbox-mcp/gearbox/internal/socket"

// CheckPeer and Listen are tested where their order matters, which a server hides.
var (
	CheckPeer = socket.CheckPeer
	Listen    = socket.Listen
)
