package agent_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// jmx asks a node's beans through the small Java program JmxRead: there is no JMX client in Go.
type jmx struct {
	in  io.Writer
	out *bufio.Reader
}

func mustJMX(t *testing.T, url string) *jmx {
	t.Helper()
	in, out := mustJava(t, "-Xmx64m", "target/test-classes", "dev.ringwatch.agent.JmxRead", url)
	return &jmx{in, out}
}

// mustJava starts a class of the agent's tests in a JVM of its own, which answers what it is asked.
// It ends with the test, and with its input; the node that it reads may be gone before it.
func mustJava(t *testing.T, heap, classPath string, class ...string) (io.Writer, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("java", append([]string{heap, "-XX:+UseSerialGC", "-cp", classPath},
		class...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	return in, bufio.NewReader(out)
}

// read returns an attribute's value as Java prints it, or what OPERATION() or OPERATION(text)
// returns.
func (j *jmx) read(bean, attribute string) (string, error) {
	if _, err := fmt.Fprintf(j.in, "%s\t%s\n", bean, attribute); err != nil {
		return "", err
	}
	text, err := j.out.ReadString('\n')
	if err != nil || strings.HasPrefix(text, "!") {
		return "", fmt.Errorf("JMX: %s %s: %s %v", bean, attribute, strings.TrimSpace(text), err)
	}
	return strings.TrimSpace(text), nil
}
