// Package notices has the commands that say whether people are reached, and of what they are told:
// notify test and notify show.
package notices

// NotifyCmd is ringwatch notify.
type NotifyCmd struct {
	Test TestCmd `cmd:"" help:"Send a receiver a message that says that it is a test, and say whether it was taken."`
	Show ShowCmd `cmd:"" help:"Show who is told of what fires: by which route, when, and in which words."`
}
