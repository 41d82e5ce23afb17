package advice_test

import "slices"

// speaking is a test of one shipped case: with these series and events, an hour of a sample each
// minute, it says this; with a part of the series replaced it is silent, as it is without events.
type speaking struct {
	of     string // alert/case
	alert  string // more of its labels
	series string
	events events
	quiet  [2]string
	also   [][2]string // other replacements with which it is silent
	day    bool        // 25 hours of a sample each five minutes
	says   string
}

// cases are those of all files, which have the names of the files of rules.
var cases = slices.Concat(cassandraCases, activityCases, kafkaCases, redisCases, targetsCases,
	ringwatchCases, storeCases)
