package ring

import gocql "github.com/apache/cassandra-gocql-driver/v2"

// SharedCluster is how the example connects: to the tests' own nodes.
func SharedCluster() *gocql.ClusterConfig {
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		panic(shared.err)
	}
	return shared.cluster()
}
