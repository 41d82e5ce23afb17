package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/help"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// hostileName is a cluster's name that a shell would run if it were let.
const hostileName = "it's $(touch ran) \"prod\"; *"

// bashBreaks is what bash has in COMP_WORDBREAKS.
const bashBreaks = " \t\n\"'><=;|&(:"

// serveHostile is serve with a cluster of that name.
func serveHostile(t *testing.T) []*frametest.Node {
	t.Helper()
	nodes := serveNodes(t, []*frametest.Node{
		frametest.New(hostileName, 1, 7), frametest.New("prod", 2, 7),
		frametest.New("terminal\u202e", 3, 7),
	})
	real, err := url.Parse(os.Getenv("RINGWATCH_API"))
	if err != nil {
		t.Fatal(err)
	}
	answers := http.NewServeMux() // of what that API has no store for
	for path, body := range map[string]string{
		"/v1/label/__name__/values":      `["node_load1","node_load15","node_load5"]`,
		"/v1/catalog":                    `[{"name":"node","entries":[{"name":"n::cpuUtilization"},{"name":"n::reads"}]}]`,
		"/v1/rules":                      `[{"name":"team.yaml"}]`,
		"/alertmanager/api/v2/receivers": `[{"name":"night"},{"name":"ops"}]`,
		"/api/v1/alerts": `{"data":{"alerts":[{"state":"firing","labels":{"alertname":"Down"}},` +
			`{"state":"pending","labels":{"alertname":"Dull"}}]}}`,
		"/alertmanager/api/v2/silences": `[{"id":"3f0c2a71","comment":"why",` +
			`"status":{"state":"active"}},{"id":"3f0c2a72","status":{"state":"expired"}}]`,
		"/api/v1/query": `{"status":"success","data":{"resultType":"vector","result":[` +
			`{"metric":{"keyspace":"shop","table":"items"},"value":[1,"1"]}]}}`,
	} {
		answers.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, body)
		})
	}
	answers.Handle("/", httputil.NewSingleHostReverseProxy(real))
	front := httptest.NewServer(answers)
	t.Cleanup(front.Close)
	t.Setenv("RINGWATCH_API", front.URL)
	return nodes
}

func TestCompletion(t *testing.T) {
	help.CompletionPatience = time.Minute
	nodes := serveHostile(t)
	app := commands(&cli{}).Model.Node
	id := nodes[1].ID.String()
	for _, c := range []struct {
		words []string
		want  string // a regular expression of all that is printed
	}{
		{[]string{"clu"}, `clusters\tList the clusters\n`},
		{[]string{"rules", "che"}, `check\tCheck rule files[^\n]*\n`},
		{[]string{"rules", "--conf"}, `--config\t[^\n]*\n`},
		{[]string{"rules", "check", ""}, `:files\n`},
		{[]string{"ingest", "-c", ""}, `:files\n`},
		{[]string{"ingest", "--config=ring"}, `:files\n`},
		{[]string{"alerts", "--state", ""}, `firing\t\npending\t\n`},
		{[]string{"alerts", "--state=p"}, `--state=pending\t\n`},
		{[]string{"events", "--severity", "w"}, `warning\t\n`},
		{[]string{"alerts", "--json", "--j"}, ``}, // it was given
		{[]string{"key", "create", "--scopes", "read,wr"}, `read,write\t\n`},
		{[]string{"nosuch", ""}, ``},
		{[]string{"__c"}, ``},
		{[]string{"latest", "10.0.0.2"}, `10\.0\.0\.2\tprod, dc1, up\n`},
		{[]string{"latest", id[:9]}, id + `\tprod, dc1, up\n`},
		{[]string{"latest", "10.0.0.2", ""}, ``}, // one node
		{[]string{"series", "10.0.0.2", "node_load1"}, `node_load1\t\nnode_load15\t\n`},
		{[]string{"query", "sum(rate(node_load15"}, `sum\(rate\(node_load15\t\n`},
		{[]string{"query", `rate(node_load1{node="10`}, ``},
		// not what steers a terminal: one that turns the direction of text
		{[]string{"report", ""}, regexp.QuoteMeta(hostileName) + `\t\nprod\t\n`},
		{[]string{"alerts", "--cluster=pr"}, `--cluster=prod\t\n`},
		{[]string{"catalog", "n::cpuUtil"}, `n::cpuUtilization\tnode\n`},
		{[]string{"catalog", "--", "--n"}, ``},
		{[]string{"lookup", "sh"}, `shop\.items\t\n`},
		{[]string{"rules", "apply", "--remove", ""}, `team\.yaml\t\n`},
		{[]string{"rules", "apply", ""}, `:files\n`},
		{[]string{"silence", "end", "3f"}, `3f0c2a71\twhy\n`},
		{[]string{"maintenance", "begin", "--node", "10.0.0.2"}, `10\.0\.0\.2\tprod, dc1, up\n`},
		{[]string{"maintenance", "begin", "--purpose", "de"}, `decommission\t\n`},
		{[]string{"notify", "test", "n"}, `night\t\n`},
		{[]string{"notify", "show", "D"}, `Down\t\n`},
		{[]string{"nodes", "--api", "http://127.0.0.1:1", "--key", "rw_x"}, ``},
		{[]string{"report", "--api", "http://127.0.0.1:1", ""}, ``},
		{[]string{"report", "--key=rw_wrong", ""}, ``},
	} {
		got := help.Completion(t.Context(), app, "zsh", c.words)
		if !regexp.MustCompile("^" + c.want + "$").MatchString(got) {
			t.Errorf("%q: %q, want %q", c.words, got, c.want)
		}
	}
	for line, want := range map[string]string{
		"ringwatch alerts --state=fi": "firing\n",
		"ringwatch catalog n::cpuUti": "cpuUtilization\n",
		"ringwatch report it":         `it\'s\ \$\(touch\ ran\)\ \"prod\"\;\ \*` + "\n",
		`ringwatch report "it`:        `it's \$(touch ran) \"prod\"; *` + "\n",
		`ringwatch report 'it`:        `it'\''s $(touch ran) "prod"; *` + "\n",
		`ringwatch report it\'s`:      `it\'s\ \$\(touch\ ran\)\ \"prod\"\;\ \*` + "\n",
		"ringwatch":                   "",
		"":                            "",
	} {
		if got := help.Completion(t.Context(), app, "bash",
			[]string{bashBreaks, line}); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := help.Completion(t.Context(), app, "bash", nil) + help.Completion(t.Context(), app,
		"zsh",
		nil); got != "" {
		t.Errorf("without words: %q", got)
	}
}

// TestCompletedNamesExist: what the API is asked for by a value's name is a name that values have.
func TestCompletedNamesExist(t *testing.T) {
	var names []string
	_ = kong.Visit(commands(&cli{}).Model.Node, func(v kong.Visitable, next kong.Next) error {
		if n, is := v.(*kong.Node); is {
			for _, value := range n.Values() {
				names = append(names, value.Name)
			}
		}
		return next(nil)
	})
	for name := range help.Subjects {
		if !slices.Contains(names, name) {
			t.Errorf("no flag and no argument has the name %s", name)
		}
	}
}

// TestCompletionInShells types into each shell, presses Tab and Enter, and reads what the command
// was called with.
func TestCompletionInShells(t *testing.T) {
	engines.Needed(t, "bash, zsh and fish")
	nodes := serveHostile(t)
	id := nodes[1].ID.String()
	for shell, start := range map[string]struct {
		args  []string
		setup string
	}{
		"bash": {[]string{"--norc", "--noprofile", "-i"}, "source <(ringwatch completion bash)"},
		"zsh": {[]string{"-f", "-i"},
			"autoload -Uz compinit; compinit -u -D; source <(ringwatch completion zsh)"},
		"fish": {[]string{"--no-config", "-i"}, "ringwatch completion fish | source"},
	} {
		t.Run(shell, func(t *testing.T) {
			s := mustShell(t, shell, start.args...)
			s.call(t, start.setup+"; ringwatch ready\r", "ready")
			for typed, want := range map[string][]string{
				"cluste\t":                 {"clusters"},
				"alerts --stat\tfir\t":     {"alerts", "--state", "firing"},
				"alerts --state=fir\t":     {"alerts", "--state=firing"},
				"report it\t":              {"report", hostileName},
				"report \"it\t":            {"report", hostileName},
				"catalog n::cpuUti\t":      {"catalog", "n::cpuUtilization"},
				"latest " + id[:9] + "\t":  {"latest", id},
				"query 'sum(node_load15\t": {"query", "sum(node_load15"},
				"rules check " + s.dir + "/somewhere/ru\t": {"rules", "check",
					s.dir + "/somewhere/rules.yaml"},
				"report --api http://127.0.0.1:1 nothing\t": {"report", "--api",
					"http://127.0.0.1:1", "nothing"},
			} {
				s.call(t, "ringwatch "+typed+"\r", want...)
			}
			if _, err := os.Stat(filepath.Join(s.dir, "ran")); err == nil {
				t.Error("the shell ran what a cluster's name says")
			}
		})
	}
}

// shell is one in a terminal, whose ringwatch writes down what it was called with.
type shell struct {
	*terminal
	dir   string
	ended chan error
}

func mustShell(t *testing.T, name string, args ...string) *shell {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: on Debian, apt-get install --no-install-recommends %s", err, name)
	}
	s := &shell{terminal: mustTerminal(t), dir: t.TempDir(), ended: make(chan error, 1)}
	program := "#!/bin/sh\ncase $1 in __complete | completion) exec env " + asRingwatch + " '" +
		self + "' \"$@\" ;; esac\n" +
		"printf '%s\\n' \"$@\" >'" + s.dir + "/calls.new' && mv '" + s.dir + "/calls.new' '" +
		s.dir + "/calls'\n"
	for file, text := range map[string]string{"bin/ringwatch": program,
		"somewhere/rules.yaml": ""} {
		file = filepath.Join(s.dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+s.dir,
		"PATH="+s.dir+"/bin:"+os.Getenv("PATH"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.program, s.program, s.program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.ended
	})
	return s
}

// call types a line and waits until ringwatch was called.
func (s *shell) call(t *testing.T, typed string, want ...string) {
	t.Helper()
	calls := filepath.Join(s.dir, "calls")
	_ = os.Remove(calls)
	if _, err := s.keys.Write([]byte(typed)); err != nil {
		t.Fatal(err)
	}
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		if text, err := os.ReadFile(calls); err == nil {
			if got := strings.Split(strings.TrimSuffix(string(text), "\n"),
				"\n"); !slices.Equal(got, want) {
				t.Errorf("%q called it with %q, want %q", typed, got, want)
			}
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%q called nothing; the terminal shows %q", typed, s.text())
		}
	}
}
