package streamtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/stream"
)

// Copy tests that what topics of one engine have is copied to another, and that groups go on there
// where they were here.
func Copy(t *testing.T, from, to stream.Engine) {
	t.Run("Frames", func(t *testing.T) { copyFrames(t, from, to) })
	t.Run("Log", func(t *testing.T) { copyLog(t, from, to) })
}

// ticks is how many messages each cluster has, a second apart.
const ticks = 40

func copyFrames(t *testing.T, from, to stream.Engine) {
	c := Config(t)
	if n, empty, err := to.About(t.Context(), c.Topic); n != 0 || !empty || err != nil {
		t.Fatalf("a topic that is not there: %d, %v, %v", n, empty, err)
	}
	begun := time.Now().Add(-time.Hour).Truncate(time.Second)
	for name, test := range map[string]struct {
		at    map[string]int // by group: the tick that it has yet to read
		first int            // the first tick that is copied
	}{
		"a group is behind":      {map[string]int{"early": 20, "late": 35}, 20},
		"what is new is read":    {map[string]int{"late": 35}, 30},
		"a group has read all":   {map[string]int{"done": ticks}, 30},
		"a group has read none":  {map[string]int{"none": 0}, 0},
		"there are no consumers": {nil, 30},
	} {
		t.Run(name, func(t *testing.T) {
			c := Config(t)
			c.Topic = strings.ReplaceAll(c.Topic, "_", ".")
			MustTopic(t, from, c)
			MustTopic(t, to, c)
			if n, empty, err := to.About(t.Context(), c.Topic); n != int(c.Partitions) || !empty ||
				err != nil {
				t.Fatalf("a new topic: %d, %v, %v", n, empty, err)
			}
			in := map[int32]int{} // clusters
			var all []stream.Message
			for i := range ticks {
				for k := range 6 {
					cluster := fmt.Sprint("c", k)
					p := stream.PartitionOf("acme", cluster, int(c.Partitions))
					if i == 0 {
						in[p]++
					}
					all = append(
						all,
						stream.Message{
							Partition: p,
							Time:      begun.Add(time.Duration(i) * time.Second),
							Key:       []byte("acme/" + cluster),
							Value:     fmt.Append(nil, i),
						},
					)
				}
			}
			Foreign(t, from, c, all...)
			var groups []string
			for group, tick := range test.at {
				group = c.Topic + "." + group
				groups = append(groups, group)
				at := stream.Position{}
				for p, n := range in {
					at[p] = int64(tick * n)
				}
				if tick == 0 {
					continue
				}
				if err := from.SetCommitted(t.Context(), c.Topic, group, at); err != nil {
					t.Fatal(err)
				}
				if got, err := from.Committed(t.Context(), c.Topic, group); err != nil ||
					!maps.Equal(got, at) {
					t.Fatalf("committed at %v, not %v: %v", got, at, err)
				}
			}
			since := begun.Add(30 * time.Second)
			n, err := stream.CopyFrames(t.Context(), from, to, c, since, groups...)
			if err != nil || n != 6*(ticks-test.first) {
				t.Fatalf("%d messages are copied, not %d: %v", n, 6*(ticks-test.first), err)
			}
			want := map[string]string{}
			for _, m := range all {
				if m.Time.Before(begun.Add(time.Duration(test.first) * time.Second)) {
					continue
				}
				want[string(m.Key)] += fmt.Sprintf(" %s at %d", m.Value, m.Time.UnixMilli())
			}
			if got := everything(t, to, c.Topic, n); !maps.Equal(got, want) {
				t.Errorf("there is\n%v\nand should be\n%v", got, want)
			}
			for group, tick := range test.at {
				at, err := to.Committed(t.Context(), c.Topic, c.Topic+"."+group)
				if err != nil {
					t.Fatal(err)
				}
				for p, n := range in {
					if want := int64((tick - test.first) * n); at[p] != want {
						t.Errorf("%s goes on at %d of partition %d, not %d", group, at[p], p, want)
					}
				}
			}
		})
	}
	fewer := c
	fewer.Partitions = 2
	MustTopic(t, to, fewer)
	MustTopic(t, from, c)
	_, err := stream.CopyFrames(t.Context(), from, to, c, begun)
	if !errors.Is(err, stream.ErrTopic) ||
		!strings.Contains(err.Error(), "4 partitions here and 2 there") {
		t.Errorf("a topic with other partitions: %v", err)
	}
}

func copyLog(t *testing.T, from, to stream.Engine) {
	c := Config(t)
	l := LogConfig(c)
	here, _ := MustLog(t, from, c, l)
	there, _ := MustLog(t, to, c, l)
	if err := here.Publish(t.Context(), Entry("prod", "a", "1"), Entry("prod", "a", "2"),
		Entry("two", "b", "1"),
		Entry("two", "gone", "1")); err != nil {
		t.Fatal(err)
	}
	for _, last := range []string{"acme:prod:a=2 acme:two:b=1 acme:two:gone=1",
		"acme:prod:a=2 acme:two:b=1"} {
		if _, err := stream.CopyLog(t.Context(), from, to, c, l); err != nil {
			t.Fatal(err)
		}
		show := func(log *stream.Log) string {
			list, _, err := log.Last(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(
				list,
				func(a, b stream.Entry) int {
					return strings.Compare(a.Cluster+a.Key, b.Cluster+b.Key)
				},
			)
			at := map[string]int64{}
			for _, e := range list {
				at[e.Cluster+e.Key] = e.At.UnixMilli()
			}
			return Show(list) + fmt.Sprint(at)
		}
		if got, want := show(there), show(here); got != want ||
			!strings.HasPrefix(got, last+"map") {
			t.Errorf("there is %s, here %s", got, want)
		}
		if err := here.Publish(t.Context(), Entry("two", "gone", "")); err != nil {
			t.Fatal(err)
		}
	}
}

// everything reads n messages of a topic: by key what they say and when.
func everything(t *testing.T, e stream.Engine, topic string, n int) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	got, enough := map[string]string{}, errors.New("enough")
	err := e.Read(
		ctx,
		stream.Reading{Topic: topic, Since: time.Unix(0, 0)},
		func(m *stream.Message) error {
			got[string(m.Key)] += fmt.Sprintf(" %s at %d", m.Value, m.Time.UnixMilli())
			if n--; n == 0 {
				return enough
			}
			return nil
		},
	)
	if err != enough {
		t.Fatalf("%d messages are missing: %v", n, err)
	}
	return got
}
