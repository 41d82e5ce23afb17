package frame

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestBrokerID holds the ids of brokers to a file that the agent's tests (BrokerBeansTest.java)
// hold theirs to.
func TestBrokerID(t *testing.T) {
	f, err := os.Open("testdata/brokers.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		broker, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		id := BrokerID(fields[0], broker)
		if id.String() != fields[2] {
			t.Errorf("broker %d of %s is %s, not %s", broker, fields[0], id, fields[2])
		}
		if IsRecorder(id) || id.Version() != 8 {
			t.Errorf("%s: version %d, a recorder: %v", id, id.Version(), IsRecorder(id))
		}
	}
	if n < 3 {
		t.Errorf("only %d vectors", n)
	}
}
