package instance

// CheckPeer and Listen are tested where their order matters, which a server hides.
var (
	CheckPeer = checkPeer
	Listen    = listen
)
