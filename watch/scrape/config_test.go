package scrape

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestConfigErrors: everything that is wrong is said at once, each in one sentence.
func TestConfigErrors(t *testing.T) {
	defer func(was time.Duration) { minInterval = was }(minInterval)
	minInterval = 5 * time.Second
	c := DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	err := c.ScrapeConfigs.UnmarshalYAML([]byte(`
- {job_name: k, kubernetes_sd_configs: [{role: pod}], ec2_sd_configs: []}
- {job_name: a, scrape_interval: 2m, static_configs: [{targets: ['x:1']}]}
- {job_name: b, scrape_intervall: 20s}
- {job_name: c, scrape_timeout: 30s, static_configs: [{targets: ['x:1']}]}
- {job_name: d}
- {job_name: e, static_configs: [{targets: ['http://x:1']}]}
- {job_name: f, static_configs: [{targets: ['x:1']}], sample_limit: 9000000, body_size_limit: 2GB}
- {job_name: f, static_configs: [{targets: ['x:1']}]}
- {job_name: f, static_configs: [{targets: ['x:1']}]}
- {static_configs: [{targets: ['x:1']}]}
- null
- text
`))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(fmt.Sprint(c.Validate()), "\n")
	want := []string{
		"scrape_configs[0] (job k): ec2_sd_configs and kubernetes_sd_configs is not here: find " +
			"targets by static_configs, file_sd_configs, http_sd_configs or dns_sd_configs",
		"scrape_configs[1] (job a): scrape_interval is 2m: use 5s to 1m",
		"scrape_configs[2]: field scrape_intervall not found, which scrape_configs do not have",
		"scrape_configs[3] (job c): scrape timeout greater than scrape interval",
		"scrape_configs[4] (job d): it names no targets: give it static_configs",
		"scrape_configs[5] (job e): \"http://x:1\" is not a valid hostname",
		"scrape_configs[6] (job f): sample_limit is 9000000: use at most 1048576",
		"body_size_limit is 2GiB: use at most 1GiB",
		"scrape_configs[8] (job f): another job has this name",
		"scrape_configs[9]: job_name is empty",
		"scrape_configs[10]: the job is empty",
		"scrape_configs[11]: expected keys and values",
	}
	if len(got) != len(want) {
		t.Errorf("%d errors:\n%s", len(got), strings.Join(got, "\n"))
	}
	for i := range min(len(got), len(want)) {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("error %d is %q, not %q", i, got[i], want[i])
		}
	}
	c = Config{MaxSeries: 5, Cluster: "*"}
	if n := len(strings.Split(fmt.Sprint(c.Validate()), "\n")); n != 5 {
		t.Errorf("%d errors: %v", n, c.Validate())
	}
	if err := c.ScrapeConfigs.UnmarshalYAML([]byte("{a: 1}")); err == nil {
		t.Error("a mapping is taken for a list")
	}
}

// TestConfigDefaults: a pasted job keeps what it says, and has our bounds where it says nothing.
func TestConfigDefaults(t *testing.T) {
	c := DefaultConfig()
	if err := c.ScrapeConfigs.UnmarshalYAML([]byte(`[
{job_name: a, static_configs: [{targets: ['x:1']}], always_scrape_classic_histograms: true,
 convert_classic_histograms_to_nhcb: false, scrape_failure_log_file: /x},
{job_name: b, static_configs: [{targets: ['x:1']}], sample_limit: 7, body_size_limit: 1MB,
 label_limit: 3, scrape_interval: 30s, basic_auth: {username: u, password: geheim}}]`)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // nothing of c changes
		all, err := c.jobs()
		if err != nil {
			t.Fatal(err)
		}
		a, b := all.ScrapeConfigs[0], all.ScrapeConfigs[1]
		if a.ScrapeInterval.String() != "20s" || a.ScrapeTimeout.String() != "10s" ||
			a.SampleLimit != 100_000 || a.BodySizeLimit != 64<<20 || a.TargetLimit != 10_000 ||
			*a.AlwaysScrapeClassicHistograms || !*a.ConvertClassicHistogramsToNHCB {
			t.Errorf("a is %+v", a)
		}
		if b.ScrapeInterval.String() != "30s" || b.SampleLimit != 7 || b.BodySizeLimit != 1<<20 ||
			b.LabelLimit != 3 {
			t.Errorf("b is %+v", b)
		}
	}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c)} {
		if strings.Contains(text, "geheim") || !strings.Contains(text, "<secret>") {
			t.Errorf("a secret is shown, or nothing: %s", text)
		}
	}
}
