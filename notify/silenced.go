package notify

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	apiv2 "github.com/prometheus/alertmanager/api/v2"
	"github.com/prometheus/alertmanager/api/v2/models"
	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/alertmanager/silence/silencepb"
	"google.golang.org/protobuf/encoding/protodelim"
)

// Alertmanager forgets a silence that ended five days ago. Each change of one is written down as
// well, as its API shows it, and the last change of a silence is what is known of it.

// noteSilences writes down silences that have changed: length-delimited MeshSilence.
func (a *account) noteSilences(change []byte) {
	now := time.Now()
	for r := bytes.NewReader(change); r.Len() > 0; {
		var m silencepb.MeshSilence
		if protodelim.UnmarshalFrom(r, &m) != nil || m.Silence == nil {
			return // the journal has it all the same
		}
		shown, err := apiv2.GettableSilenceFromProto(m.Silence)
		if err == nil {
			err = a.silenced.add(now, &shown)
		}
		if err != nil {
			a.log.Error("a silence cannot be written down for later", "id", m.Silence.Id,
				"error", err)
		}
	}
}

// Silenced returns an account's silences that held at some time from from to to, also those that
// Alertmanager's API does not know any more, in its form: those that began last first, at most
// limit, and whether there are more.
func (n *Notifier) Silenced(
	account string, from, to time.Time, limit int,
) (list []*models.GettableSilence, more bool, err error) {
	a, err := n.account(account)
	if err != nil {
		return nil, false, err
	}
	begins, err := a.silenced.begins()
	if err != nil {
		return nil, false, err
	}
	known, now := map[string]*models.GettableSilence{}, time.Now()
	slices.Reverse(begins) // the oldest first: a later change replaces an earlier one
	for _, begin := range begins {
		err := readLines(a.silenced.path(begin), func(s *models.GettableSilence) {
			if s.ID != nil && s.StartsAt != nil && s.EndsAt != nil && s.Status != nil {
				known[*s.ID] = s
			}
		})
		if err != nil {
			return nil, false, err
		}
	}
	for _, s := range known {
		starts, ends := time.Time(*s.StartsAt), time.Time(*s.EndsAt)
		if starts.After(to) || ends.Before(from) || !ends.After(starts) {
			continue // or it ended before it began
		}
		state := string(silence.SilenceStateActive)
		switch {
		case now.Before(starts):
			state = string(silence.SilenceStatePending)
		case !now.Before(ends):
			state = string(silence.SilenceStateExpired)
		}
		s.Status.State = &state
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *models.GettableSilence) int {
		return cmp.Or(time.Time(*b.StartsAt).Compare(time.Time(*a.StartsAt)),
			strings.Compare(*a.ID, *b.ID))
	})
	return list[:min(limit, len(list))], len(list) > limit, nil
}
