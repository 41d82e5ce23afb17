package settings

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ringwatch/ringwatch/watch"
	"github.com/ringwatch/ringwatch/watch/kafka"
	"github.com/ringwatch/ringwatch/watch/redis"
	"github.com/ringwatch/ringwatch/watch/scrape"
	"github.com/ringwatch/ringwatch/watch/send"
)

// WatchConfig is what the role watch reads, and where it sends it.
type WatchConfig struct {
	ConsumerConfig
	send.Config
	Spool send.Spool

	// What targets have that say nothing else.
	Cluster   string        // of scraped targets that have no label cluster
	Interval  time.Duration // between two readings of a target
	Timeout   time.Duration // of one reading
	MaxSeries int           // of one reading

	Kafka         []kafka.Config
	Redis         []redis.Config
	ScrapeConfigs scrape.Jobs
	MaxAllSeries  int // of all scraped targets together
	MaxScrapes    int // at once
}

func defaultWatch() WatchConfig {
	s := scrape.DefaultConfig()
	return WatchConfig{ConsumerConfig: ConsumerConfig{Listen: "127.0.0.1:9476"},
		Config: send.DefaultConfig(), Spool: send.DefaultSpool(), Cluster: s.Cluster,
		Interval: s.Interval, Timeout: s.Timeout, MaxSeries: s.MaxSeries,
		MaxAllSeries: s.MaxAllSeries, MaxScrapes: s.MaxScrapes}
}

// Targets reports whether anything is to be read.
func (c *WatchConfig) Targets() bool { return len(c.Kafka)+len(c.Redis)+len(c.ScrapeConfigs) > 0 }

// fill gives the entries what they do not say themselves: what the role says, if that can be used.
func (c *WatchConfig) fill() {
	role := *c
	if role.numbers() != nil {
		role = defaultWatch() // what is wrong is said once, of the role
	}
	of := func(interval, timeout *time.Duration, series *int) {
		*interval = cmp.Or(*interval, role.Interval)
		*timeout = cmp.Or(*timeout, min(role.Timeout, *interval))
		*series = cmp.Or(*series, role.MaxSeries)
	}
	for i := range c.Kafka {
		of(&c.Kafka[i].Interval, &c.Kafka[i].Timeout, &c.Kafka[i].MaxSeries)
	}
	for i := range c.Redis {
		of(&c.Redis[i].Interval, &c.Redis[i].Timeout, &c.Redis[i].MaxSeries)
	}
}

// numbers reports what is wrong with what targets have that say nothing else.
func (c *WatchConfig) numbers() error {
	role := c.Scrapes()
	role.ScrapeConfigs = nil
	return role.Validate()
}

// validate reports everything that is wrong at once. The entries have what fill gives them.
func (c *WatchConfig) validate() error {
	wrong := []error{c.TLS.Validate(), c.Config.Validate(), c.Spool.Validate(), c.numbers(),
		DirectoryKey("spool.directory", c.Spool.Directory)}
	jobs := *c.Scrapes()
	if wrong[3] != nil {
		jobs = scrape.DefaultConfig()
		jobs.ScrapeConfigs = c.ScrapeConfigs
	}
	wrong = append(wrong, jobs.Validate())
	for i := range c.Kafka {
		wrong = append(wrong, section(fmt.Sprintf("kafka[%d]", i), c.Kafka[i].Validate()))
	}
	for i := range c.Redis {
		wrong = append(wrong, section(fmt.Sprintf("redis[%d]", i), c.Redis[i].Validate()))
	}
	if c.Targets() && !c.On() {
		wrong = append(wrong,
			errors.New("there are targets and no API key: set key or key_file to "+
				"one with the scope write"))
	}
	return errors.Join(wrong...)
}

// Scrapes is the configuration of what is scraped.
func (c *WatchConfig) Scrapes() *scrape.Config {
	return &scrape.Config{ScrapeConfigs: c.ScrapeConfigs, Interval: c.Interval, Timeout: c.Timeout,
		Cluster: c.Cluster, MaxSeries: c.MaxSeries, MaxAllSeries: c.MaxAllSeries,
		MaxScrapes: c.MaxScrapes}
}

// Sources returns the targets that Ringwatch reads itself.
func (c *WatchConfig) Sources(log *slog.Logger) (list []watch.Source) {
	for i := range c.Kafka {
		of := &c.Kafka[i]
		list = append(list, watch.Source{Target: of.Target(), Timeout: of.Timeout,
			MaxSeries: of.MaxSeries, Open: func() (watch.Reader, error) {
				return kafka.New(*of, kafka.Deps{Log: log})
			}})
	}
	for i := range c.Redis {
		targets := c.Redis[i].Targets()
		for j, of := range c.Redis[i].Each() {
			list = append(list, watch.Source{Target: targets[j], Timeout: of.Timeout,
				MaxSeries: of.MaxSeries, Open: func() (watch.Reader, error) {
					return redis.New(of, redis.Deps{Log: log})
				}})
		}
	}
	return list
}
