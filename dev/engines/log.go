package engines

import (
	"io"
	"os"
	"regexp"
	"strings"
)

// logStartMark begins the line that StartProcess writes before each start, so that a diagnosis
// does not blame this start for what an earlier one wrote.
const logStartMark = "---- starting "

// maxDiagnosed is how much of a log's end is looked at.
const maxDiagnosed = 256 << 10

var (
	bindFailure = regexp.MustCompile(
		`(?i)address already in use|port already in use|is in use by another process|failed to bind|BindException`)
	complaint = regexp.MustCompile(
		`ERROR|FATAL|Caused by:|Exception|Error:|error:|# |Can't|Cannot|Failed`)
	stackFrame  = regexp.MustCompile(`^(at |\.\.\. \d+ )`)
	plainStatus = regexp.MustCompile(`INFO |DEBUG `)
)

// remedies are tried in order on the end of a log.
var remedies = []struct {
	sign   *regexp.Regexp
	remedy string
}{
	{regexp.MustCompile(
		`Error opening zip file|agent library failed|processing of -javaagent failed`),
		"build the agent's jar (make build) or leave the -javaagent argument out"},
	{regexp.MustCompile(`UnsupportedClassVersionError|Unrecognized option|Unrecognized VM option`),
		"run it with Java 17 (JAVA_HOME)"},
	{regexp.MustCompile(`Invalid (initial|maximum) heap size`),
		"give its heap as a JVM size such as 1G"},
	{regexp.MustCompile(`OutOfMemoryError`), "give it a larger heap"},
	{regexp.MustCompile(
		`Cannot allocate memory|insufficient memory|could not reserve enough space`),
		"free some memory or give it a smaller heap"},
	{regexp.MustCompile(`No space left on device`), "free some disk space"},
	{regexp.MustCompile(`Invalid cluster.id|INCONSISTENT|Saved cluster name`),
		"its data belongs to another cluster: remove its data directory or use the old name"},
	{regexp.MustCompile(`Permission denied|AccessDenied`),
		"make its directory writable for this user"},
}

// diagnose reads the end of a log since the last start and returns its most telling line, whether
// a port was taken, and what to do.
func diagnose(path string) (line string, bindFailed bool, remedy string) {
	text := logTail(path, maxDiagnosed)
	if i := strings.LastIndex(text, logStartMark); i >= 0 {
		_, text, _ = strings.Cut(text[i:], "\n")
	}
	return diagnoseText(text)
}

// LastWords returns the most telling line that a process wrote since its last start, for an error
// message, and what to do about it.
func LastWords(logFile string) (line, remedy string) {
	line, _, remedy = diagnose(logFile)
	return line, remedy
}

// diagnoseText prefers a line about a taken port, then the first with a known remedy, then the
// last complaint, then the last line.
func diagnoseText(text string) (line string, bindFailed bool, remedy string) {
	var last, telling string
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if l == "" || stackFrame.MatchString(l) {
			continue
		}
		last = l
		if bindFailure.MatchString(l) {
			return shorten(l), true, "stop what listens there or choose another port"
		}
		if remedy != "" || plainStatus.MatchString(l) {
			continue
		}
		for _, r := range remedies {
			if r.sign.MatchString(l) {
				telling, remedy = l, r.remedy
				break
			}
		}
		if remedy == "" && complaint.MatchString(l) {
			telling = l
		}
	}
	if remedy == "" {
		remedy = "read what comes before that line"
	}
	switch {
	case telling != "":
		return shorten(telling), false, remedy
	case last != "":
		return shorten(last), false, remedy
	}
	return "it wrote nothing", false, "run it by hand to see why"
}

// shorten keeps an error on one readable line.
func shorten(line string) string {
	const most = 300
	if len(line) > most {
		return line[:most] + "…"
	}
	return line
}

// logTail returns up to most bytes from the end of a file, or nothing when it cannot be read.
func logTail(path string, most int64) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd) // reading from the start instead is only slower
	}
	b, _ := io.ReadAll(io.LimitReader(f, most))
	return string(b)
}
