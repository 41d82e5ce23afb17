// Package notices has the commands that say whether people are reached, and of what they are told:
// notify test, notify show and notify history.
package notices

// NotifyCmd is ringwatch notify.
type NotifyCmd struct {
	Test    TestCmd    `cmd:"" help:"Send a receiver a message that says that it is a test, and say whether it was taken."`
	History HistoryCmd `cmd:"" help:"List what people were told, the newest first, and what did not reach them."`
	Show    ShowCmd    `cmd:"" help:"Show who is told of what fires: by which route, when, and in which words."`
}
