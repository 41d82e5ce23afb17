package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Requests are split so that none of them, and no answer, grows with the cluster.
const (
	partitionsAsked = 10_000 // of ListOffsets
	groupsAsked     = 100    // of DescribeGroups
	guessEvery      = 30     // readings, for the version
)

var (
	errUnexpected = errors.New("the answer is to another question: is a proxy between?")
	errNonsense   = errors.New("the broker's answer cannot be: see its log")
)

// logEnds asks a broker for the ends (-1) or the starts (-2) of the logs that it leads. It reports
// whether it answered.
func (p *pass) logEnds(ctx context.Context, n *node, which int64) bool {
	what := "brokers gave no ends of logs"
	if which == -2 {
		what = "brokers gave no starts of logs"
	}
	request, asked, answered := kmsg.NewPtrListOffsetsRequest(), 0, n.leaders == 0
	send := func() bool {
		answer, err := p.reader.ask.one(ctx, n.id, request)
		if err != nil {
			p.missing.add(what, n.name(), err)
			return false
		}
		said, ok := answer.(*kmsg.ListOffsetsResponse)
		if !ok {
			p.missing.add(what, n.name(), errUnexpected)
			return true
		}
		answered = true
		p.takeEnds(n, which, said)
		request, asked = kmsg.NewPtrListOffsetsRequest(), 0
		return true
	}
	for _, t := range p.reader.order {
		var of *kmsg.ListOffsetsRequestTopic
		for i, leader := range t.leader {
			if leader != n.id {
				continue
			}
			if of == nil {
				request.Topics = append(request.Topics, kmsg.NewListOffsetsRequestTopic())
				of = &request.Topics[len(request.Topics)-1]
				of.Topic = t.name
			}
			if of.Partitions == nil {
				of.Partitions = make([]kmsg.ListOffsetsRequestTopicPartition, 0,
					min(t.partitions()-i, partitionsAsked))
			}
			one := kmsg.NewListOffsetsRequestTopicPartition()
			one.Partition, one.Timestamp = int32(i), which
			of.Partitions = append(of.Partitions, one)
			if asked++; asked == partitionsAsked {
				if !send() {
					return answered
				}
				of = nil
			}
		}
	}
	if asked > 0 {
		send()
	}
	return answered
}

func (p *pass) takeEnds(n *node, which int64, said *kmsg.ListOffsetsResponse) {
	for i := range said.Topics {
		t := p.reader.topics[said.Topics[i].Topic]
		for j := range said.Topics[i].Partitions {
			s := &said.Topics[i].Partitions[j]
			at := int(s.Partition)
			// Another leader's partitions are not this broker's to tell of.
			if t == nil || at < 0 || at >= t.partitions() || t.leader[at] != n.id {
				p.missing.add("brokers told of partitions that nobody asked for", n.name(),
					errNonsense)
				continue
			}
			if s.ErrorCode != 0 {
				p.missing.code("partitions gave no offsets", t.name+"/"+number(at), s.ErrorCode)
				continue
			}
			if s.Offset < 0 {
				p.missing.add("partitions gave no offsets", t.name+"/"+number(at), errNonsense)
				continue
			}
			if which == -1 {
				t.end[at] = s.Offset
			} else {
				t.oldest[at] = s.Offset
			}
		}
	}
}

// listGroups asks a broker which groups it coordinates.
func (p *pass) listGroups(ctx context.Context, n *node) bool {
	const what = "brokers listed no groups"
	answer, err := p.reader.ask.one(ctx, n.id, kmsg.NewPtrListGroupsRequest())
	if err != nil {
		p.missing.add(what, n.name(), err)
		return false
	}
	said, ok := answer.(*kmsg.ListGroupsResponse)
	if !ok {
		p.missing.add(what, n.name(), errUnexpected)
		return true
	}
	p.missing.code(what, n.name(), said.ErrorCode)
	for i := range said.Groups {
		g := &said.Groups[i]
		n.groups = append(n.groups, listed{name: g.Group, state: g.GroupState, kind: g.GroupType})
	}
	return true
}

// logDirs asks a broker how large its logs are.
func (p *pass) logDirs(ctx context.Context, n *node) bool {
	const what = "brokers told no sizes of logs"
	answer, err := p.reader.ask.one(ctx, n.id, kmsg.NewPtrDescribeLogDirsRequest())
	if err != nil {
		p.missing.add(what, n.name(), err)
		return false
	}
	said, ok := answer.(*kmsg.DescribeLogDirsResponse)
	if !ok {
		p.missing.add(what, n.name(), errUnexpected)
		return true
	}
	if p.missing.code(what, n.name(), said.ErrorCode) {
		return true
	}
	if len(said.Dirs) == 0 { // a broker has one at least; without the right it shows none
		p.missing.add(what, n.name(), kerr.ClusterAuthorizationFailed)
		return true
	}
	n.topicSizes = make([]int64, len(p.reader.order))
	for i := range n.topicSizes {
		n.topicSizes[i] = unknown
	}
	seen := map[string]bool{}
	for i := range said.Dirs {
		d := &said.Dirs[i]
		if seen[d.Dir] || len(seen) == 1000 {
			p.missing.add(what, n.name(), errNonsense)
			continue
		}
		seen[d.Dir] = true
		dir := logDir{path: d.Dir, up: d.ErrorCode == 0, total: noValue, usable: noValue}
		if said.Version >= 4 && d.TotalBytes >= 0 {
			dir.total, dir.usable = d.TotalBytes, d.UsableBytes
		}
		for j := range d.Topics {
			var size int64
			for k := range d.Topics[j].Partitions {
				size += max(d.Topics[j].Partitions[k].Size, 0)
			}
			dir.size += size
			if t := p.reader.topics[d.Topics[j].Topic]; t != nil {
				n.topicSizes[t.index] = max(n.topicSizes[t.index], 0) + size
			}
		}
		n.size += dir.size
		n.dirs = append(n.dirs, dir)
	}
	n.logs = true
	return true
}

// askQuorum asks who has the cluster's metadata. With KRaft, only this tells the controller: the
// metadata name any broker.
func (p *pass) askQuorum(ctx context.Context) {
	p.controller = -1
	defer func() {
		if p.quorum != nil {
			p.controller = p.quorum.LeaderID
		}
	}()
	request := kmsg.NewPtrDescribeQuorumRequest()
	of := kmsg.NewDescribeQuorumRequestTopic()
	of.Topic = "__cluster_metadata"
	of.Partitions = append(of.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	request.Topics = append(request.Topics, of)
	const what, name = "the quorum is not described", "controller"
	answer, err := p.reader.ask.any(ctx, request)
	if err != nil {
		p.missing.add(what, name, err)
		return
	}
	said, ok := answer.(*kmsg.DescribeQuorumResponse)
	switch {
	case !ok:
		p.missing.add(what, name, errUnexpected)
	case p.missing.code(what, name, said.ErrorCode):
		if said.ErrorCode == kerr.ClusterAuthorizationFailed.Code {
			p.controller = noController
		}
	case len(said.Topics) != 1 || len(said.Topics[0].Partitions) != 1:
		p.missing.add(what, name, errNonsense)
	case p.missing.code(what, name, said.Topics[0].Partitions[0].ErrorCode):
		if said.Topics[0].Partitions[0].ErrorCode == kerr.ClusterAuthorizationFailed.Code {
			p.controller = noController
		}
	default:
		p.quorum = &said.Topics[0].Partitions[0]
	}
}

// guessVersion asks a broker, now and then, what it can, which tells its version.
func (p *pass) guessVersion(ctx context.Context) {
	r := p.reader
	if r.readSinceGuess++; r.version != "" && r.readSinceGuess < guessEvery {
		return
	}
	r.readSinceGuess = 0
	answer, err := r.ask.any(ctx, kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		return // who does not answer is named by the other questions
	}
	if said, ok := answer.(*kmsg.ApiVersionsResponse); ok {
		r.kraft = slices.ContainsFunc(said.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool {
			return k.ApiKey == kmsg.DescribeQuorum.Int16()
		})
		r.version = strings.ReplaceAll(kversion.FromApiVersionsResponse(said).VersionGuess(), "v",
			"")
	}
}

func (n *node) name() string { return number(int(n.id)) + " at " + n.address }

func number(n int) string { return strconv.Itoa(n) }

func hostPort(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// remedies say what to do about an error code.
var remedies = map[*kerr.Error]string{
	kerr.ClusterAuthorizationFailed: "allow the login DESCRIBE on the cluster",
	kerr.TopicAuthorizationFailed:   "allow the login DESCRIBE on the topics, or exclude them",
	kerr.GroupAuthorizationFailed:   "allow the login DESCRIBE on the groups, or exclude them",
	kerr.LeaderNotAvailable:         "a broker must come back, or an election end",
	kerr.NotLeaderForPartition: "an election was under way; the next reading asks " +
		"the new leader",
	kerr.CoordinatorLoadInProgress: "the coordinator is starting; the next reading asks again",
	kerr.CoordinatorNotAvailable: "the topic __consumer_offsets has no leader: a broker " +
		"must come back",
	kerr.NotCoordinator:          "the group moved; the next reading asks its new coordinator",
	kerr.UnknownTopicOrPartition: "it was deleted meanwhile; the next reading knows",
	kerr.UnsupportedVersion:      "Kafka 3.0 or later is needed",
}

// explained gives an error the words that an operator needs.
func explained(err error, timeout fmt.Stringer) error {
	var coded *kerr.Error
	var dial *net.OpError
	switch {
	case errors.As(err, &coded):
		if remedy := remedies[coded]; remedy != "" {
			return fmt.Errorf("%s: %s", coded.Message, remedy)
		}
		if strings.Contains(coded.Message, "SASL") {
			return fmt.Errorf("%w: check sasl", err)
		}
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("%w: check that Kafka runs there", err)
	case errors.Is(err, context.DeadlineExceeded):
		// Who called knows when its own time was up: this is not that.
		return fmt.Errorf("no answer within %s: check that the broker runs, that this machine "+
			"reaches the address that it gives to clients (advertised.listeners), and tls and sasl",
			timeout)
	}
	return err
}
