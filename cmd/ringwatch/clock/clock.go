// Package clock says what time it is for roles and commands.
package clock

import (
	"time"
)

// Now is what the roles take for now; tests let time leap.
var Now = time.Now
