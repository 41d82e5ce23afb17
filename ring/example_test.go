package ring_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/ringwatch/ringwatch/ring"
)

// Many products' prices in one read: each key is asked of a replica that has it, together with
// the others that it has.
func ExampleReader() {
	// with a cluster of your own: gocql.NewCluster("10.0.0.1", "10.0.0.2")
	cluster := ring.SharedCluster()
	session, err := cluster.CreateSession()
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for _, statement := range []string{
		"CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {'class': " +
			"'NetworkTopologyStrategy', 'dc1': 3}",
		"CREATE TABLE IF NOT EXISTS shop.prices (product text, day date, cents int, PRIMARY KEY " +
			"(product, day)) WITH CLUSTERING ORDER BY (day DESC)",
		"INSERT INTO shop.prices (product, day, cents) VALUES ('cup', '2026-11-20', 450)",
		"INSERT INTO shop.prices (product, day, cents) VALUES ('cup', '2026-11-21', 400)",
		"INSERT INTO shop.prices (product, day, cents) VALUES ('pot', '2026-11-19', 1900)",
	} {
		if err := session.Query(statement).Exec(); err != nil {
			log.Fatal(err)
		}
	}

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	config := ring.DefaultConfig()
	// ask no other's replicas
	config.Datacenter = "dc1"
	// race what is slower than 19 of 20 answers
	config.Speculation = "p95"
	// keep what is asked for often,
	config.CacheBytes = 64 << 20
	config.CacheTTL = map[string]time.Duration{"shop.prices": time.Minute} // a minute long
	reader, err := ring.Connect(ctx, session, config, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()

	products := []ring.Key{{"pot"}, {"spoon"}, {"cup"}, {42}}
	newest := ring.Query{Keyspace: "shop", Table: "prices", Columns: []string{"day", "cents"},
		Where: "day >= ?", Args: []any{"2026-11-01"}, Limit: 1}
	results, err := reader.Read(ctx, newest, products)
	if err != nil {
		log.Fatal(err) // the query as a whole: no such table, a restriction that does not parse
	}
	for i, result := range results {
		switch {
		case result.Err != nil:
			fmt.Println(products[i][0], "failed") // result.Err says that product is a text
		case len(result.Rows) == 0:
			fmt.Println(products[i][0], "has no price")
		default:
			var day time.Time
			var cents int
			if err := result.Rows[0].Scan(&day, &cents); err != nil {
				log.Fatal(err)
			}
			fmt.Println(products[i][0], day.Format(time.DateOnly), cents)
		}
	}

	// What this process writes, its next read is to see.
	if err := session.Query("INSERT INTO shop.prices (product, day, cents) VALUES ('spoon', " +
		"'2026-11-21', 120)").Exec(); err != nil {
		log.Fatal(err)
	}
	if err := reader.Forget("shop", "prices", ring.Key{"spoon"}); err != nil {
		log.Fatal(err)
	}
	err = reader.Stream(ctx, newest, products[1:2], func(i int, result ring.Result) {
		fmt.Println("spoon now has", len(result.Rows), "price")
	})
	if err != nil {
		log.Fatal(err)
	}

	// Output:
	// pot 2026-11-19 1900
	// spoon has no price
	// cup 2026-11-21 400
	// 42 failed
	// spoon now has 1 price
}
