package engines

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"time"
)

// The versions of Cassandra that CassandraConfig.Version may name, one of each line that the
// agent supports. CassandraVersion, the default, is the one that make up runs and that Fetch
// fetches.
const (
	Cassandra40 = "4.0.19"
	Cassandra41 = "4.1.10"
	Cassandra50 = CassandraVersion
	Cassandra60 = "6.0-alpha2"
)

// CassandraVersions returns the versions that can be started, oldest first.
func CassandraVersions() []string {
	return []string{Cassandra40, Cassandra41, Cassandra50, Cassandra60}
}

var (
	//go:embed cassandra-4.0.pom.xml
	cassandra40Pom []byte
	//go:embed cassandra-4.0.lock
	cassandra40Lock string
	//go:embed cassandra-4.1.pom.xml
	cassandra41Pom []byte
	//go:embed cassandra-4.1.lock
	cassandra41Lock string
	//go:embed cassandra-6.0.pom.xml
	cassandra60Pom []byte
	//go:embed cassandra-6.0.lock
	cassandra60Lock string
)

// otherCassandras are fetched when they are started, and not before: only tests and benchmarks
// run them.
func otherCassandras() []bundle {
	return []bundle{
		{"cassandra", "Cassandra", Cassandra40, cassandra40Pom, cassandra40Lock, "cassandra-4.0"},
		{"cassandra", "Cassandra", Cassandra41, cassandra41Pom, cassandra41Lock, "cassandra-4.1"},
		{"cassandra", "Cassandra", Cassandra60, cassandra60Pom, cassandra60Lock, "cassandra-6.0"},
	}
}

// FetchCassandra makes one version of Cassandra ready to start, with its Java where the one found
// is another. See Fetch.
func FetchCassandra(ctx context.Context, version string, progress func(string)) error {
	if _, err := cassandraJars(ctx, version, progress); err != nil {
		return err
	}
	_, err := JavaHome(ctx, version, progress)
	return err
}

// cassandraJars returns the class path of one version.
func cassandraJars(ctx context.Context, version string, progress func(string)) (string, error) {
	for _, b := range append(otherCassandras(), bundles()[0]) {
		if b.version == version {
			return b.fetch(ctx, progress)
		}
	}
	return "", fmt.Errorf("there is no Cassandra %s among the engines: choose one of %s", version,
		strings.Join(CassandraVersions(), ", "))
}

// needsJava11 tells the versions that do not run on Java 17.
func needsJava11(version string) bool { return strings.HasPrefix(version, "4.") }

// fitSettings turns cassandra.yaml's settings of 5.0 into those of another version.
func fitSettings(version string, settings map[string]any) {
	if strings.HasPrefix(version, "4.0.") {
		delete(settings, "native_transport_timeout") // came with 4.1, as durations with a unit
		for name, value := range maps.Clone(settings) {
			if name != "commitlog_sync_group_window" && !strings.HasSuffix(name, "_timeout") {
				continue
			}
			if duration, err := time.ParseDuration(fmt.Sprint(value)); err == nil {
				delete(settings, name)
				settings[name+"_in_ms"] = duration.Milliseconds()
			}
		}
	}
}

// jvmOptions is what Cassandra's own start script passes to its Java.
func jvmOptions(version string) []string {
	options := strings.Fields(cassandraJVM)
	switch {
	case needsJava11(version):
		return append(options, strings.Fields(cassandraJava11)...)
	case version == Cassandra60:
		return append(options, strings.Fields(cassandraJava17+cassandra60Java17)...)
	}
	return append(options, strings.Fields(cassandraJava17)...)
}

// cassandraJVM is what all versions get, less their tuning for big machines, plus what makes a
// lone node start in seconds: there is no ring to settle and nobody to gossip with.
const cassandraJVM = `
-XX:+UseG1GC -XX:+ExitOnOutOfMemoryError -XX:+PerfDisableSharedMem -Xss256k -Dfile.encoding=UTF-8
-Djava.net.preferIPv4Stack=true -Djava.awt.headless=true
-Dcassandra-foreground=yes -Dcassandra.ring_delay_ms=1000 -Dcassandra.skip_wait_for_gossip_to_settle=0
-Djdk.attach.allowAttachSelf=true
-Dio.netty.tryReflectionSetAccessible=true -Dio.netty.allocator.useCacheForAllThreads=true -Dio.netty.allocator.maxOrder=11
`

// cassandraJava11 is from jvm11-server.options of 4.0 and 4.1.
const cassandraJava11 = `
--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED
--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED
--add-exports=java.base/sun.nio.ch=ALL-UNNAMED
--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED
--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED
--add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED
--add-exports=java.sql/java.sql=ALL-UNNAMED
--add-opens=java.base/java.lang.module=ALL-UNNAMED
--add-opens=java.base/jdk.internal.loader=ALL-UNNAMED
--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED
--add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED
--add-opens=java.base/jdk.internal.math=ALL-UNNAMED
--add-opens=java.base/jdk.internal.module=ALL-UNNAMED
--add-opens=java.base/jdk.internal.util.jar=ALL-UNNAMED
--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED
`

// cassandraJava17 is from jvm17-server.options of 5.0.
const cassandraJava17 = `
--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED
--add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED
--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED
--add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED
--add-exports=java.sql/java.sql=ALL-UNNAMED
--add-exports=java.base/java.lang.ref=ALL-UNNAMED
--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED
--add-opens=java.base/java.lang.module=ALL-UNNAMED
--add-opens=java.base/jdk.internal.loader=ALL-UNNAMED
--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED
--add-opens=java.base/jdk.internal.reflect=ALL-UNNAMED
--add-opens=java.base/jdk.internal.math=ALL-UNNAMED
--add-opens=java.base/jdk.internal.module=ALL-UNNAMED
--add-opens=java.base/jdk.internal.util.jar=ALL-UNNAMED
--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED
--add-opens=java.base/sun.nio.ch=ALL-UNNAMED
--add-opens=java.base/java.io=ALL-UNNAMED
--add-opens=java.base/java.lang.reflect=ALL-UNNAMED
--add-opens=java.base/java.lang=ALL-UNNAMED
--add-opens=java.base/java.util=ALL-UNNAMED
`

// cassandra60Java17 is what 6.0's jvm17-server.options has beyond 5.0's.
const cassandra60Java17 = `
--add-exports=jdk.attach/sun.tools.attach=ALL-UNNAMED
--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED
--add-opens=java.base/java.nio=ALL-UNNAMED
`
