// Package setup has the commands of who installs and upgrades: size, schema, backfill, agent-jar
// and version.
package setup

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// AgentJarCmd is what an init container runs: the image has no shell that could copy a file.
type AgentJarCmd struct {
	Dir string `arg:"" help:"The folder. It is made if it is not there." type:"dir"`
	Jar string `help:"The jar to copy." default:"/usr/share/ringwatch/ringwatch-agent.jar" type:"path"`
}

// Help implements kong.HelpProvider.
func (*AgentJarCmd) Help() string {
	return "Puts ringwatch-agent.jar into a folder, in place of one that is there. The image has " +
		"the jar and no shell: where Cassandra runs in Kubernetes, an init container gives the " +
		"jar to it by this command, in a volume of both.\n\n" +
		"Example: ringwatch agent-jar /opt/ringwatch"
}

// Run implements the command. A Java that has the jar of before open keeps that one.
func (c *AgentJarCmd) Run() (err error) {
	jar, err := os.ReadFile(c.Jar)
	if err != nil {
		return exit.Usage(fmt.Errorf("%w; name the jar with --jar", err))
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	to := filepath.Join(c.Dir, "ringwatch-agent.jar")
	part, err := os.CreateTemp(c.Dir, ".ringwatch-agent-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part.Name())
		}
	}()
	defer part.Close()
	if _, err = part.Write(jar); err != nil {
		return err
	}
	if err = part.Chmod(0o644); err != nil { // Cassandra's user is another one
		return err
	}
	if err = part.Close(); err != nil {
		return err
	}
	if err = os.Rename(part.Name(), to); err != nil {
		return err
	}
	_, err = fmt.Println(to)
	return err
}
