package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// Tool runs Cassandra's nodetool on a node, from the engine's jars.
func Tool(ctx context.Context, c *engines.Cassandra, args ...string) error {
	cache, err := engines.CacheDir()
	if err != nil {
		return err
	}
	java, err := engines.JavaHome(ctx, engines.CassandraVersion, nil)
	if err != nil {
		return err
	}
	all := append([]string{"-cp", filepath.Join(cache, "cassandra-"+engines.CassandraVersion, "*"),
		"-Dcom.sun.jndi.rmiURLParsing=legacy", "-Xmx128M",
		"--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
		"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
		"--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED",
		"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
		"org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1", "-p", strconv.Itoa(c.JMXPort)},
		args...)
	cmd := exec.CommandContext(ctx, filepath.Join(java, "bin", "java"), all...)
	cmd.Dir = c.Dir // it writes a history file to the home directory
	cmd.Env = append(os.Environ(), "HOME="+c.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nodetool %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
