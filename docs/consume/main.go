// Command consume is the example of docs/CONSUME.md: a team's own consumer of the topic of frames.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	log.Fatal(consume(context.Background(), os.Stdout, "ringwatch.frames", "127.0.0.1:9092"))
}

// consume prints each node's load whenever a frame of it comes, until ctx ends.
func consume(ctx context.Context, out io.Writer, topic string, brokers ...string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic),
		kgo.ConsumerGroup("my-team"), // the first start begins two windows back:
		kgo.ConsumeStartOffset(
			kgo.NewOffset().AfterMilli(time.Now().Add(-10*time.Minute).UnixMilli())))
	if err != nil {
		return err
	}
	defer client.Close()
	load := frame.NewWanted(func(metric string) bool { return metric == "os_load1" }, nil)
	nodes := map[string]*following.Follower{} // each keeps its node's last key frames
	for {
		// the offsets of the poll before are committed now and then
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, r := range fetches.Records() {
			h, _, err := frame.Parse(r.Value) // r.Key is account/cluster
			if err != nil {
				continue
			}
			node := string(r.Key) + h.Node.String()
			if nodes[node] == nil {
				nodes[node] = following.New(window.Node{}, load)
			}
			_, err = nodes[node].Frame(nil, r.Value, func(c *following.Cell) {
				m := c.Of.Metrics[c.Metric]
				fmt.Fprintln(out, h.Time(), c.Labels(), frame.Scale(c.Int, m.Exponent))
			})
			// a delta frame whose key frame came before we began: wait for the next window
			if err != nil {
				fmt.Fprintln(os.Stderr, node, err)
			}
		}
	}
}
