package engines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LayOutCassandra lays a Cassandra out in a directory as its tarball does: what starts it in bin,
// its configuration with Java's options in conf, jars in lib. It listens on 127.0.0.1, at the ports
// that Cassandra has by default, and runs on the java in PATH. No registry has the tarball itself,
// so bin/cassandra is ours: it starts in front, as the tarball's does with -f.
func LayOutCassandra(ctx context.Context, dir string, progress func(string)) error {
	classPath, err := cassandraJars(ctx, CassandraVersion, progress)
	if err != nil {
		return err
	}
	c := CassandraConfig{Dir: filepath.Join(dir, "conf"), ClusterName: "Test Cluster",
		NativePort: 9042, StoragePort: 7000}.withDefaults()
	if err := c.writeFiles(); err != nil {
		return err
	}
	options := append(jvmOptions(c.Version), "-Xms"+c.Heap, "-Xmx"+c.Heap,
		"-Dcassandra.jmx.local.port=7199", "-Dlogback.configurationFile=logback.xml")
	for _, part := range []string{"bin", "lib"} {
		if err := makeDir(filepath.Join(dir, part)); err != nil {
			return err
		}
	}
	for jar := range strings.SplitSeq(classPath, ":") {
		name := filepath.Join("lib", filepath.Base(jar))
		if strings.HasPrefix(filepath.Base(jar), "jamm-") {
			options = append(options, "-javaagent:"+name)
		}
		text, err := os.ReadFile(jar)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("cannot copy Cassandra's jars: %w", err)
		}
	}
	for name, text := range map[string]string{
		"conf/jvm-server.options": strings.Join(options, "\n") + "\n",
		"bin/cassandra":           startCassandraScript,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			return fmt.Errorf("cannot write Cassandra's files: %w", err)
		}
	}
	return nil
}

const startCassandraScript = `#!/bin/sh
cd "$(dirname "$0")/.." || exit
exec java $(grep '^-' conf/jvm-server.options) -Dcassandra.storagedir="$PWD/data" \
	-Dcassandra.logdir="$PWD/logs" -cp 'conf:lib/*' org.apache.cassandra.service.CassandraDaemon
`
