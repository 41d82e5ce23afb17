package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apiv2 "github.com/prometheus/alertmanager/api/v2"
	"github.com/prometheus/alertmanager/cluster"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/eventrecorder"
	"github.com/prometheus/alertmanager/labelset"
	"github.com/prometheus/alertmanager/nflog"
	amnotify "github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/provider/mem"
	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/disk/durable"
)

// account is one account's Alertmanager. What it is made of, and what of it is replaced when the
// configuration changes:
//
//	board (alerts) ─┬─▶ inhibitor ─┐
//	                └─▶ dispatcher ┴▶ gate ▶ inhibited? muted? silenced? told already? ▶ receivers
//	                    └── running: replaced ──┘     silences ┘  told (log) ┘
//
// Silences, the log and the board each have a journal in the directory.
type account struct {
	name    string
	dir     string
	options *Options
	log     *slog.Logger
	reg     *prometheus.Registry // Alertmanager's own metrics, of this account alone

	silences *silence.Silences
	silencer *silence.Silencer
	told     *nflog.Log
	board    *board

	silenceFile, toldFile, boardFile *journal

	members                    *members // nil: nobody else tells
	sharedSilences, sharedTold *shared

	pipelines         *amnotify.PipelineBuilder
	dispatcherMetrics *dispatch.DispatcherMetrics
	handler           http.Handler
	api               *apiv2.API

	beside   beside
	history  *history // of messages
	silenced *history // of silences

	changing sync.Mutex // one reload or end at a time
	running  atomic.Pointer[running]
	stopped  bool
	end      chan struct{}
	kept     sync.WaitGroup
}

// silencesPart is which part of the room for history is for silences.
const silencesPart = 8

// openAccount reads what is in its directory and starts with b.
func openAccount(
	o *Options, m *metrics, others *members, name string, b *built,
) (a *account, err error) {
	a = &account{name: name, members: others, options: o,
		dir: filepath.Join(o.Dir, directoryOf(name)),
		log: o.Log.With("account", name), reg: prometheus.NewRegistry(),
		beside: newBeside(), end: make(chan struct{})}
	most := int64(o.Limits.MaxHistoryBytes)
	a.history = &history{dir: a.dir, kind: messagesKind, maxBytes: most - most/silencesPart}
	a.silenced = &history{dir: a.dir, kind: silencesKind, maxBytes: most / silencesPart}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("notify: account %s: %w", name, err), a.closeFiles())
			a = nil
		}
	}()
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return a, err
	}
	if err := durable.Names(o.Dir); err != nil {
		return a, err
	}
	if err := a.openSilences(); err != nil {
		return a, err
	}
	if err := a.openTold(); err != nil {
		return a, err
	}
	if err := a.openBoard(m); err != nil {
		return a, err
	}
	if a.api, err = apiv2.NewAPI(a.board, a.groups, a.silences, others.status(), a.log,
		a.reg); err != nil {
		return a, err
	}
	a.handler = a.routes()
	a.pipelines = amnotify.NewPipelineBuilder(a.reg, flags, eventrecorder.Recorder{})
	a.dispatcherMetrics = dispatch.NewDispatcherMetrics(false, a.reg, flags)
	a.become(b)
	a.kept.Go(a.keep)
	return a, nil
}

// open opens a journal and says what is wrong with it.
func (a *account) open(name string) (*journal, [][]byte, error) {
	j, records, damaged, err := openJournal(filepath.Join(a.dir, name))
	if damaged {
		a.log.Error("the end of a file is damaged; what could be read of it is used",
			"file", filepath.Join(a.dir, name), "kept", name+".damaged")
	}
	return j, records, err
}

// openSilences reads silences. Each change is on disk before it is answered.
func (a *account) openSilences() error {
	file, records, err := a.open(silencesName)
	if err != nil {
		return err
	}
	a.silenceFile = file
	l := a.options.Limits
	a.silences, err = silence.New(silence.Options{
		SnapshotReader: bytes.NewReader(slices.Concat(records...)), Retention: a.options.Retention,
		Limits: silence.Limits{
			MaxSilences:         func() int { return l.MaxSilences },
			MaxSilenceSizeBytes: func() int { return l.MaxSilenceBytes },
		},
		Logger: a.log, Metrics: a.reg,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", file.path, err)
	}
	a.sharedSilences = a.share("silences", a.silences, a.silences.SetBroadcast,
		func(change []byte) {
			a.write(file, true, change)
			a.noteSilences(change)
		})
	a.silencer = silence.NewSilencer(a.silences, a.log, eventrecorder.Recorder{})
	return nil
}

// openTold reads what receivers were told.
func (a *account) openTold() error {
	file, records, err := a.open(toldName)
	if err != nil {
		return err
	}
	a.toldFile = file
	a.told, err = nflog.New(nflog.Options{
		SnapshotReader: bytes.NewReader(slices.Concat(records...)), Retention: a.options.Retention,
		Logger: a.log, Metrics: a.reg,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", file.path, err)
	}
	a.sharedTold = a.share("told", a.told, a.told.SetBroadcast,
		func(change []byte) { a.write(file, false, change) })
	return nil
}

// share keeps changes of a part of the state, and tells the other members of them.
func (a *account) share(
	part string, state cluster.State, onChange func(func([]byte)), keep func([]byte),
) *shared {
	s := &shared{State: state, keep: keep, large: map[uint32]bool{}}
	onChange(keep) // others may send something at once
	broadcast := a.members.share(a.name+"/"+part, s)
	onChange(func(change []byte) {
		keep(change)
		broadcast(change)
	})
	return s
}

// openBoard reads the alerts of an earlier life.
func (a *account) openBoard(m *metrics) error {
	file, records, err := a.open(alertsName)
	if err != nil {
		return err
	}
	a.boardFile = file
	a.board = &board{limits: a.options.Limits, metrics: m, journal: file,
		calm: a.options.calm, known: map[model.Fingerprint]noted{}}
	removed := callback{Silencer: a.silencer, board: func() *board { return a.board }}
	a.board.Alerts, err = mem.NewAlerts(context.Background(), a.options.collectEvery, 0, removed,
		a.log, eventrecorder.Recorder{}, a.reg, flags)
	if err != nil {
		return err
	}
	a.board.restore(records, time.Now().Add(a.options.FiringLasts))
	return nil
}

// write appends to a journal. What fails is written when the file is written anew: see keep.
func (a *account) write(j *journal, lasting bool, change []byte) {
	if err := j.append(lasting, change); err != nil {
		a.log.Error("the directory of notifications cannot be written; silences and what was told "+
			"are in memory alone", "file", j.path, "error", err)
	}
}

// groups implements the API's question for groups.
func (a *account) groups(
	ctx context.Context, routes func(*dispatch.Route) bool, alerts dispatch.AlertFilter,
) (dispatch.AlertGroups, map[model.Fingerprint][]string, error) {
	return a.running.Load().dispatcher.Groups(ctx, routes, alerts)
}

// become replaces what runs, if something does.
func (a *account) become(b *built) {
	a.changing.Lock()
	defer a.changing.Unlock()
	if a.stopped {
		return
	}
	if old := a.running.Load(); old != nil {
		a.board.again(old.stop(a.options.StopTimeout))
	}
	r := a.newRunning(b)
	r.start()
	a.running.Store(r)
	a.api.Update(b.config.parsed, func(ctx context.Context, set labelset.LabelSet) {
		a.running.Load().inhibitor.Mutes(ctx, set)
		a.silencer.Mutes(ctx, set)
	})
}

// keep makes files last and short, and forgets what is over.
func (a *account) keep() {
	sync := time.NewTicker(a.options.syncEvery)
	defer sync.Stop()
	shorten := time.NewTicker(a.options.shortenEvery)
	defer shorten.Stop()
	for {
		select {
		case <-a.end:
			return
		case <-sync.C:
			a.lasting()
		case now := <-shorten.C:
			a.board.forget(now)
			if err := errors.Join(a.shorten(false), a.history.forget(now),
				a.silenced.forget(now)); err != nil {
				a.log.Error("the directory of notifications cannot be written", "dir", a.dir,
					"error", err)
			}
		}
	}
}

func (a *account) lasting() {
	if err := errors.Join(a.history.sync(), a.silenced.sync()); err != nil {
		a.log.Error("the directory of notifications cannot be written", "dir", a.dir, "error", err)
	}
	for _, j := range []*journal{a.toldFile, a.boardFile} {
		if err := j.sync(); err != nil {
			a.log.Error("the directory of notifications cannot be written", "file", j.path,
				"error", err)
		}
	}
}

// shorten removes what is over, and writes files anew that are long, or all.
func (a *account) shorten(all bool) error {
	_, err1 := a.silences.GC()
	_, err2 := a.told.GC()
	whole := func(state func() ([]byte, error)) func() ([][]byte, error) {
		return func() ([][]byte, error) {
			b, err := state()
			return [][]byte{b}, err
		}
	}
	errs := []error{err1, err2}
	for _, one := range []struct {
		file     *journal
		snapshot func() ([][]byte, error)
	}{
		{a.silenceFile, whole(a.silences.MarshalBinary)}, {a.toldFile, whole(a.told.MarshalBinary)},
		{a.boardFile, a.board.records},
	} {
		if all || one.file.long() {
			errs = append(errs, one.file.rewrite(one.snapshot))
		}
	}
	return errors.Join(errs...)
}

// stop ends it in the order in which nothing is told twice or lost: groups tell nothing more, what
// is on its way arrives and is noted. Then the other members hear of it, and close closes the
// files.
func (a *account) stop() {
	a.changing.Lock()
	defer a.changing.Unlock()
	if a.stopped {
		return
	}
	a.stopped = true
	a.board.again(a.running.Load().stop(a.options.StopTimeout))
	close(a.end)
	a.kept.Wait()
}

// close closes the files, after stop.
func (a *account) close() error {
	for _, s := range []*shared{a.sharedSilences, a.sharedTold} {
		s.close()
	}
	err := a.shorten(true)
	a.board.Close()
	return errors.Join(err, a.closeFiles())
}

func (a *account) closeFiles() error {
	errs := []error{a.history.close(), a.silenced.close()}
	for _, j := range []*journal{a.silenceFile, a.toldFile, a.boardFile} {
		if j != nil {
			errs = append(errs, j.close())
		}
	}
	return errors.Join(errs...)
}
