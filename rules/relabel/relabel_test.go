package relabel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prom "github.com/prometheus/prometheus/model/relabel"

	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/rules/relabel"
)

func mustMounts(t testing.TB) *relabel.Mapping {
	t.Helper()
	m, err := relabel.Mounts()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMounts(t *testing.T) {
	m := mustMounts(t)
	for _, c := range []struct{ where, device, mount, volume string }{
		{"AWS, EBS", "nvme1n1", "/var/lib/cassandra", "data"},
		{"AWS, EBS", "nvme1n1", "/mnt/ebs0", "data"},
		{"AWS, instance store", "nvme2n1", "/mnt/nvme1/cassandra", "data"},
		{"AWS, Xen", "xvdb", "/media/ephemeral0", "data"},
		{"AWS, RAID", "md0", "/raid0", "data"},
		{"AWS, the system's", "nvme0n1p1", "/", "root"},
		{"GCP, local SSD", "nvme0n2", "/mnt/disks/ssd0", "data"},
		{"GCP, persistent disk", "sdb", "/mnt/disks/cassandra-data", "data"},
		{"GCP, commit log", "sdc", "/mnt/disks/commitlog", "commitlog"},
		{"Azure, data disk", "sdc1", "/datadisks/disk1", "data"},
		{"Azure, temporary disk", "sdb1", "/mnt/resource", "data"},
		{"Kubernetes", "sdd", "/var/lib/kubelet/pods/7/volumes/data", "data"},
		{"on premises", "sdb1", "/u01", "data"},
		{"on premises", "dm-3", "/cassandra/data1", "data"},
		{"on premises", "sdc1", "/cassandra/commitlog", "commitlog"},
		{"on premises", "sdc1", "/var/lib/cassandra/commitlog", "commitlog"},
		{"on premises", "sdc1", "/commit_log", "commitlog"},
		{"on premises", "sdc1", "/cassandra-commitlog", "commitlog"},
		{"on premises", "sdc1", "/var/lib/cassandra/hints", "hints"},
		{"on premises", "sdc1", "/srv/fast", "data"},
		{"a container", "overlay", "/", "root"},

		{"AWS, a device", "nvme0n1", "", "root"},
		{"AWS, a device", "nvme1n1", "", "data"},
		{"AWS, a device", "xvda1", "", "root"},
		{"AWS, a device", "xvdf", "", "data"},
		{"GCP or Azure, a device", "sda", "", "root"},
		{"GCP or Azure, a device", "sdc", "", "data"},
		{"a RAID", "md127", "", "data"},
		{"a volume group's, of which nothing is known", "dm-0", "", ""},
	} {
		b := labels.NewScratchBuilder(5)
		b.Add("__name__", "os_filesystem_size_bytes")
		b.Add("node", "7")
		b.Add("device", c.device)
		if c.mount != "" {
			b.Add("mount", c.mount)
		}
		b.Sort()
		got, keep := m.Labels(b.Labels())
		if !keep || got.Get("volume") != c.volume || got.Get("device") != c.device ||
			got.Get("mount") != c.mount ||
			got.Get("node") != "7" {
			t.Errorf("%s: %s %s: %s", c.where, c.device, c.mount, got)
		}
	}
	for _, l := range []labels.Labels{labels.FromStrings("__name__",
		"os_network_received_bytes_total", "device", "eth0"),
		labels.FromStrings("__name__", "cassandra_table_live_sstables", "keyspace", "a", "table",
			"b"), labels.EmptyLabels()} {
		if got, keep := m.Labels(l); !keep || !labels.Equal(got, l) {
			t.Errorf("%s becomes %s", l, got)
		}
	}
}

func load(text string) (*relabel.Mapping, error) {
	return relabel.Load("own.yaml", []byte(text), selector.DefaultConfig())
}

// TestAsPrometheus: the rules are Prometheus's, whatever they do.
func TestAsPrometheus(t *testing.T) {
	text := `
- {source_labels: [mount, device], separator: "@", regex: "/(.*)@(.*)", target_label: disk, replacement: "$2-$1"}
- {action: lowercase, source_labels: [disk], target_label: disk}
- {action: hashmod, source_labels: [disk], modulus: 4, target_label: shard}
- {action: labelmap, regex: "dev(.*)", replacement: "was_$1"}
- {action: labeldrop, regex: device}
- {action: drop, source_labels: [mount], regex: /tmp}
- {action: dropequal, source_labels: [was_ice], target_label: mount}
`
	m, err := load(text)
	if err != nil {
		t.Fatal(err)
	}
	got, keep := m.Labels(labels.FromStrings("__name__", "x", "device", "SDB", "mount", "/Data"))
	if want := `{__name__="x", disk="sdb-data", mount="/Data", shard="1", was_ice="SDB"}`; !keep ||
		got.String() != want {
		t.Errorf("%s", got)
	}
	for _, dropped := range []labels.Labels{labels.FromStrings("mount", "/tmp"),
		labels.FromStrings("mount", "a", "device", "a")} {
		if _, keep := m.Labels(dropped); keep {
			t.Errorf("%s is kept", dropped)
		}
	}
}

func TestWrongRules(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no list":           {"a: 1", "own.yaml: "},
		"an unknown key":    {"- {regexp: a}", "unknown field"},
		"an unknown action": {"- {action: explode}", `unknown relabel action "explode"`},
		"no target": {"- {}\n- {regex: a}", "rule 1: relabel configuration for " +
			"replace action requires 'target_label'"},
		"no regular expression": {"- {regex: 'a(', target_label: b}", "own.yaml: rule 1: regex: "},
		"a dear one": {"- {regex: " +
			"'((a{0,100}){0,10}b{0,900}){1}(c{0,1000}){1}((d{0,999}))(e{0,999})(f{0,999})(.{0,999})(.{0,999})(.{0,999})(.{0,999})(.{0,999})(.{0,999})(.{0,999})', target_label: b}", "instructions"},
		"a long one": {"- {regex: '" + strings.Repeat("a", 9000) + "', target_label: b}",
			"bytes of one regular expression"},
		"the node": {"- {target_label: node, replacement: other}", "rule 1: " +
			"target_label node may not be changed"},
		"the name": {"- {target_label: __name__, replacement: other}",
			"target_label __name__ may not be changed"},
		"dropping the cluster": {"- {action: labeldrop, regex: c.*}", "labeldrop would " +
			"remove the label cluster"},
		"keeping too little": {"- {action: labelkeep, regex: mount}", "labelkeep would " +
			"remove the label __name__"},
		"too many": {strings.Repeat("- {target_label: a}\n", 201), "the file has " +
			"201 rules, and 200 are allowed"},
		"a long replacement": {"- {target_label: a, replacement: '" +
			strings.Repeat("x", 2000) + "'}", "replacement has 2000 bytes"},
		"an empty rule":         {"- ", "rule 1: it is empty"},
		"more than fits a file": {"#" + strings.Repeat("x", 64<<10), "more than 65536 bytes"},
		"a bomb of YAML's anchors": {"- &a {regex: x, target_label: y}\n- {regex: *a}",
			"own.yaml: "},
	} {
		if _, err := load(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err := load(""); err != nil || m.Rules() != 0 {
		t.Errorf("%v", err)
	}
	if _, err := relabel.LoadFile(filepath.Join(t.TempDir(), "none.yaml"),
		selector.DefaultConfig()); err == nil ||
		!os.IsNotExist(unwrap(err)) {
		t.Error(err)
	}
}

func unwrap(err error) error { return err.(interface{ Unwrap() error }).Unwrap() }

// TestBounds: rules that double a value, or the labels, end at the bound.
func TestBounds(t *testing.T) {
	doubling := strings.Repeat(
		"- {source_labels: [a], target_label: a, replacement: '$1$1'}\n",
		100,
	)
	mapping := "- {action: labelmap, regex: '(.*)', replacement: 'a_$1'}\n"
	bound := memorytest.Bound{Base: 16 << 20, Factor: 64, Time: time.Minute}
	for name, text := range map[string]string{"values": doubling,
		"labels": strings.Repeat(mapping, 100)} {
		m, err := load(text)
		if err != nil {
			t.Fatal(err)
		}
		l := labels.FromStrings("__name__", "x", "a", "0123456789", "node", "7")
		bound.Within(t, len(text), func() {
			if got, keep := m.Labels(l); !keep || !labels.Equal(got, l) {
				t.Errorf("%s: %.300s", name, got)
			}
		})
	}
}

// TestWhoseStays: a labelmap cannot make a series another node's.
func TestWhoseStays(t *testing.T) {
	m, err := load("- {action: labelmap, regex: my_(.*), replacement: $1}")
	if err != nil {
		t.Fatal(err)
	}
	got, keep := m.Labels(
		labels.FromStrings("node", "7", "my_node", "8", "my_cluster", "c", "my_disk", "d"),
	)
	if !keep || got.Get("node") != "7" || got.Get("cluster") != "" || got.Get("disk") != "d" {
		t.Errorf("%s", got)
	}
}

func TestCache(t *testing.T) {
	m, err := relabel.New(
		[]*prom.Config{
			{
				Action:       prom.Drop,
				SourceLabels: model.LabelNames{"mount"},
				Regex:        prom.MustNewRegexp("/tmp"),
				Separator:    ";",
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	c, err := relabel.NewCache[string](m, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	sets := func() []labels.Labels {
		asked++
		return []labels.Labels{
			labels.FromStrings("mount", "/tmp"),
			labels.FromStrings("mount", "/"),
		}
	}
	for range 3 {
		if got := c.Results("one", sets); len(got) != 2 || got[0].Keep || !got[1].Keep {
			t.Errorf("%v", got)
		}
	}
	if c.Results("two", sets); asked != 2 {
		t.Errorf("dictionaries were mapped %d times", asked)
	}
}

// BenchmarkKnown is what a frame costs whose dictionary is known.
func BenchmarkKnown(b *testing.B) {
	c, err := relabel.NewCache[string](mustMounts(b), 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	sets := func() []labels.Labels {
		return []labels.Labels{labels.FromStrings("device", "sda", "mount", "/")}
	}
	for b.Loop() {
		c.Results("one", sets)
	}
}
