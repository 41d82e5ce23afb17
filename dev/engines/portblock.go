package engines

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// portBlock is how many ports a process claims at a time.
const portBlock = 100

// portBlocks gives each process ports that no other one chooses, each once: a port that is free
// for a moment, because the program that is told it has yet to start, or the engine on it was
// killed and starts again, is not another test's meanwhile. A claim is a name in Linux's abstract
// socket namespace. It belongs to the network namespace, as ports do, and ends with the process.
type portBlocks struct {
	mu     sync.Mutex
	claims []net.Listener // kept open
	at     int            // the next port
	left   int            // of the block
}

var chosen portBlocks

// next returns a port that may be tried: of a claimed block, or any one where nothing can be
// claimed.
func (b *portBlocks) next() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 && !b.claim() {
		return firstChosenPort + rand.IntN(lastChosenPort-firstChosenPort)
	}
	b.at++
	b.left--
	return b.at - 1
}

func (b *portBlocks) claim() bool {
	for _, i := range rand.Perm((lastChosenPort - firstChosenPort) / portBlock) {
		claim, err := net.Listen("unix",
			"@ringwatch-ports-"+strconv.Itoa(firstChosenPort+i*portBlock))
		if err != nil {
			continue
		}
		b.claims = append(b.claims, claim)
		b.at, b.left = firstChosenPort+i*portBlock, portBlock
		return true
	}
	return false
}
