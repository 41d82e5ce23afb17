package redis

import (
	"testing"

	"github.com/ringwatch/ringwatch/dev/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }
