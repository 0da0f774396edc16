// Package pool hands out parked children by template, to each principal in turn.
//
// How a child is made is the backend's business; what is done with one is the engine's.
// Here is decided who has one when, how many stand ready, and how long the sources live
// that make them.
//
// # The contract
//
// A child is handed out once, to one caller, and is never used again. [Pool.Child] waits
// for a turn (see [Turns]), then gives a parked child if there is one, a warm one before
// a cold one, and otherwise has one made while the caller waits. The caller ends the
// child, waits until nothing of it is left, and then calls release, which passes the turn
// on. Children of different classes of principals never come of one source, because the
// class is a part of the template.
//
// Children are parked ahead of time for templates that somebody has used, and for no
// others; but the child that a new source is tried with stays. A template in use has
// Size parked, as long as MaxParked suffices for all: then each has an even part. They
// are made one at a time for each source, at once when nothing is at work, and otherwise
// 6 ms after the last checkout, which further checkouts put off to 24 ms at most, and no
// more once half is gone. As long as less than half is there they are not warmed up, to be
// quick; cold ones are replaced when nothing is at work. What is made while a caller waits
// is never warmed up.
//
// While several principals call, one that has more than half of the places leaves the
// last half of what is parked to the others.
//
// A template that is not used shrinks to one parked child after IdleAfter, and to none,
// and no source, after CloseAfter. No more than eight sources are kept: the one unused
// for longest goes first, but never one that is in use.
//
// A source is replaced when it is MaxAge old or has made MaxMade children: a new one is
// opened beside it and takes over when it is ready; the old one is closed when its last
// child is dead. A source that ends by itself is forgotten at once, with all that is
// parked of it, and another one is opened; a caller who had no child of it yet is served
// by that one, once. Callers always cause a source to be opened if there is none; in the
// background that is tried again after a delay that doubles to a minute. So are children
// that cannot be made in advance or die while parked. A source that fails to make three
// in a row may be stuck, and is replaced.
//
// While memory is short nothing is parked and what is parked is let go; children are
// still made for callers.
//
// Nothing in the path of a caller who finds a child parked makes a system call or waits,
// but for its turn.
package pool
