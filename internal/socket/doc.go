// Package socket holds sockets of the file system that a user's own processes reach
// and nobody else: made with mode 0600, and vouched for by the kernel at the other end
// of each connection.
//
// What belongs here: making such a socket, connecting with it, and [CheckPeer]. What
// is said over it, and who removes its file, is for those who use it.
package socket
