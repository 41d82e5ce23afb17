package notify

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/cluster"
	amnotify "github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/client_golang/prometheus"
)

// Gossip is how several processes tell people as one, by Alertmanager's own gossip: each knows the
// silences that people set at another, and what another has told.
type Gossip struct {
	// Listen is a host:port for the others, of TCP, and of UDP without TLS. "": it is alone.
	Listen string `yaml:"listen"`
	// Advertise is the host:port at which the others reach it; "": found out.
	Advertise string `yaml:"advertise"`
	// Peers are host:port of some of the others, itself too if that is easier. A name may have
	// several addresses; it is looked up again and again.
	Peers []string `yaml:"peers"`
	// Wait is how long each member but the first waits for those before it to tell.
	Wait time.Duration `yaml:"wait"`
	// TLSConfigFile is what Alertmanager's --cluster.tls-config reads. Only an address of this
	// machine does without: whoever reaches the port otherwise can silence all alerts.
	TLSConfigFile string `yaml:"tls_config_file"`
}

// DefaultGossip lacks Listen: alone.
func DefaultGossip() Gossip { return Gossip{Wait: 15 * time.Second} }

// On says whether there may be others.
func (g *Gossip) On() bool { return g.Listen != "" }

// Validate reports everything that is wrong at once, what its files say included.
func (g *Gossip) Validate() error {
	if !g.On() {
		if len(g.Peers) > 0 || g.Advertise != "" || g.TLSConfigFile != "" {
			return errors.New("listen is empty: give the address at which the others reach this " +
				"process, such as 0.0.0.0:9094")
		}
		return nil
	}
	var errs []error
	address := func(key, text string) (host string) {
		host, _, err := net.SplitHostPort(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is %q: write host:port, such as 10.0.0.2:9094", key,
				text))
		}
		return host
	}
	host := address("listen", g.Listen)
	if g.Advertise != "" {
		address("advertise", g.Advertise)
	}
	for i, p := range g.Peers {
		address(fmt.Sprintf("peers[%d]", i), p)
	}
	if g.Wait <= 0 {
		errs = append(errs, fmt.Errorf("wait is %s: use more than 0, such as 15s", g.Wait))
	}
	if g.TLSConfigFile == "" && !net.ParseIP(host).IsLoopback() && host != "localhost" {
		errs = append(errs, errors.New("tls_config_file is empty: whoever reaches the port could "+
			"silence all alerts; name a file with tls_server_config and tls_client_config"))
	}
	return errors.Join(append(errs, g.validateTLS())...)
}

func (g *Gossip) validateTLS() error {
	c, err := cluster.GetTLSTransportConfig(g.TLSConfigFile)
	if err != nil {
		return fmt.Errorf("tls_config_file: %w", err)
	}
	if c == nil {
		return nil
	}
	if c.TLSServerConfig.ClientAuth != "RequireAndVerifyClientCert" {
		return fmt.Errorf("tls_config_file: %s lets in who has no certificate: give "+
			"tls_server_config client_auth_type: RequireAndVerifyClientCert and a client_ca_file",
			g.TLSConfigFile)
	}
	return nil
}

// members are the processes that tell as one. Without others it is nil, whose methods say so.
type members struct {
	peer *cluster.Peer
	wait time.Duration
	reg  *prometheus.Registry // the gossip's own metrics
	log  *slog.Logger
	end  context.CancelFunc
}

// A member that has not answered for some seconds counts as gone: then two may be the first, and
// both tell. These are longer than the library's, for a process that is paused or busy.
const (
	probeEvery   = 4 * time.Second
	probeTimeout = 2 * time.Second
)

// newMembers listens, and joins nobody yet.
func newMembers(g Gossip, log *slog.Logger) (*members, error) {
	if !g.On() {
		return nil, nil
	}
	tls, err := cluster.GetTLSTransportConfig(g.TLSConfigFile)
	if err != nil {
		return nil, fmt.Errorf("notify: gossip: %w", err)
	}
	m := &members{wait: g.Wait, reg: prometheus.NewRegistry(), log: log.With("part", "gossip")}
	m.peer, err = cluster.Create(m.log, m.reg, g.Listen, g.Advertise, g.Peers, false,
		cluster.DefaultPushPullInterval, cluster.DefaultGossipInterval, cluster.DefaultTCPTimeout,
		cluster.DefaultResolvePeersTimeout, probeTimeout, probeEvery, tls, false, "ringwatch", "")
	if err != nil {
		return nil, fmt.Errorf("notify: gossip: %w", err)
	}
	return m, nil
}

// join looks for the others, and again and again for those that it does not find. Until it has
// settled nothing is told: what others have told has to be known first.
func (m *members) join(settle time.Duration) {
	if m == nil {
		return
	}
	// who is not there is tried again, and said in the log
	_ = m.peer.Join(cluster.DefaultReconnectInterval, cluster.DefaultReconnectTimeout)
	ctx, cancel := context.WithCancel(context.Background())
	m.end = cancel
	go m.peer.Settle(ctx, settle)
}

// leave tells the others, after what they were to hear has been sent.
func (m *members) leave(patience time.Duration) {
	if m == nil || m.end == nil {
		return
	}
	m.end()
	if err := m.peer.Leave(patience); err != nil {
		m.log.Warn("the others will notice by themselves that this process has ended", "error", err)
	}
}

// turn is how long to wait for those before this one. They may have told meanwhile.
func (m *members) turn() time.Duration {
	if m == nil {
		return 0
	}
	return time.Duration(m.peer.Position()) * m.wait
}

// settled is what notifications wait for before anything is told; nil: nothing.
func (m *members) settled() amnotify.Peer {
	if m == nil {
		return nil
	}
	return m.peer
}

// status is what Alertmanager's API says of the members; nil: it is alone.
func (m *members) status() cluster.ClusterPeer {
	if m == nil {
		return nil
	}
	return m.peer
}

// count is how many members answer, with this one.
func (m *members) count() int {
	if m == nil {
		return 1
	}
	return m.peer.ClusterSize()
}

// share lets the others have a part of an account's state, and this one theirs. It returns what
// sends a change to them.
func (m *members) share(key string, s *shared) func([]byte) {
	if m == nil {
		return func([]byte) {}
	}
	return m.peer.AddState(key, s, m.reg).Broadcast
}

// shared is a part of an account's state that all members have: silences, or what was told. What
// comes from others goes into the journal as what is made here does.
type shared struct {
	cluster.State
	keep func(change []byte) // writes the journal

	mu     sync.Mutex
	closed bool
	large  map[uint32]bool // checksums of what was kept and is too large to be passed on
}

// maxLarge bounds shared.large: what is forgotten is written once more.
const maxLarge = 10_000

// Merge implements cluster.State. The parts pass on, and so keep, what is new to them, unless the
// message is large, as whole states are. So each of its entries is merged for itself. They are
// length-delimited protocol buffers: Alertmanager's nflogpb.MeshEntry, silencepb.MeshSilence.
func (s *shared) Merge(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	for len(b) > 0 {
		n, head := binary.Uvarint(b)
		if head <= 0 || n > uint64(len(b)-head) {
			return errors.New("an entry from another member is cut off")
		}
		entry := b[:head+int(n)]
		b = b[len(entry):]
		if err := s.State.Merge(entry); err != nil {
			return err
		}
		if !cluster.OversizedMessage(entry) {
			continue
		}
		if sum := crc32.Checksum(entry, castagnoli); !s.large[sum] {
			if len(s.large) >= maxLarge {
				clear(s.large)
			}
			s.large[sum] = true
			s.keep(entry)
		}
	}
	return nil
}

// close lets nothing in any more.
func (s *shared) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
