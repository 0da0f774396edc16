// Package pressure tells when memory is so short that nothing should be kept in it for
// convenience.
//
// Linux alone says so in a way that costs nothing to ask; elsewhere memory is never
// short. What is done about it is not decided here.
package pressure
