# What people type; `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

# As in what is released: a bare Debian has no C compiler, and the program, its tests and its packages
# share what is compiled. The race detector sets it otherwise.
export CGO_ENABLED := 0

JAR := agent/target/ringwatch-agent.jar
AGENT_SOURCES := $(shell find agent -name target -prune -o -type f -print 2>/dev/null) \
	dictionary/metrics.txt $(wildcard dictionary/profile/*.txt dictionary/profile/*.yaml)

# Count the packages of a long first build, and the files that Maven fetches, instead of printing each: a line every three seconds at most.
# Maven calls what is odd in others' POMs an error, too; ours come before it builds, or after it has failed.
COUNT := awk '/^[^ :\#]+$$/ {n++; if (systime() >= said + 3) {said = systime(); print "  " n " packages"; fflush()} next} {print; fflush()}'
FILES := awk '/Downloaded from/ {n++; if (systime() >= said + 3) {said = systime(); print "  " n " files fetched"; fflush()}} / Building / {built = 1} /BUILD FAILURE/ {built = 0} !built && /^\[ERROR\]/ {print; fflush()}'

.PHONY: help prerequisites build bin/ringwatch bin/up console screens pictures man up up-line down clean-data status check test test-full chaos drills bench dist

##@ Run it

help: ## this list
	@awk -F ':.*## ' '/^##@ / {printf "%s%s\n", n++ ? "\n" : "", substr($$0, 5)} \
		/^[a-z-]+:.*## / {line = sprintf("  make %-17s", $$1); words = split($$2, word, " "); \
		for (i = 1; i <= words; i++) {if (length(line word[i]) > 99) {print line; line = sprintf("%24s", "")} \
		line = line " " word[i]} print line}' $(MAKEFILE_LIST)

prerequisites:
	@dev/engines/prerequisites.sh

build: prerequisites bin/ringwatch $(JAR) ## bin/ringwatch and the agent's jar

# -s leaves out symbols and debug information, 27 of 92 MB; panics and pprof need neither.
bin/ringwatch:
	@[ -e $@ ] || echo "building $@ (the first time takes some minutes)"
	@go build -v -buildvcs=false -ldflags="-s -X 'main.release=$$(dev/stamp.sh)'" -o $@ ./cmd/ringwatch \
		2>&1 | $(COUNT)

bin/up:
	@go build -v -o $@ ./dev/up 2>&1 | $(COUNT)

$(JAR): $(AGENT_SOURCES)
	@echo "building $@"
	@cd agent && mvn -B package -DskipTests 2>&1 | $(FILES)
	@touch $@

up: build bin/up ## start Ringwatch and a monitored Cassandra and say where; settings: bin/up up --help
	@bin/up up

up-line: build bin/up ## the same as a line of engines: Kafka, Cassandra and Redis keep everything
	@bin/up up --line

down: bin/up ## stop what make up started
	@bin/up down

status: bin/up ## say what runs
	@bin/up status

clean-data: bin/up ## forget the data of what make up started
	@bin/up clean-data

# The agent's tests start a Cassandra in Java, so they run on its Java, whatever builds them.
JAVA17 = RINGWATCH_JAVA17="$$(go run ./dev/engines/javahome)"

# What the console's tests and its build need; the built files are in the repository.
MODULES := console/node_modules/.package-lock.json
$(MODULES): console/package-lock.json
	@command -v npm >/dev/null && command -v chromium-headless-shell >/dev/null || { echo "missing: npm and chromium-headless-shell, which test the console; on Debian: apt-get install --no-install-recommends nodejs npm chromium-headless-shell" >&2; exit 1; }
	@echo "fetching the console's modules"
	@cd console && npm ci --no-audit --no-fund --loglevel=error >/dev/null
	@touch $@

##@ Change it

check: prerequisites $(MODULES) ## format, linters and the tests that need no engines, in three minutes; before every commit
	@go run ./dev/testsum --check

test: prerequisites $(MODULES) ## every test, on real engines
	@$(JAVA17) && export RINGWATCH_JAVA17 && go run ./dev/testsum --build=make,build

test-full: prerequisites $(MODULES) ## the same with the race detector, the long tests and a minute of each fuzz test
	@$(JAVA17) && export RINGWATCH_JAVA17 && go run ./dev/testsum --build=make,build --full

chaos: prerequisites bin/ringwatch ## kill, stop and starve two processes of each role and their engines for half an hour, then ringwatch all in a directory as long, and check every answer; 70 minutes; ARGS='-seed 7' for the same faults again, ARGS='-minutes 2 -kills 10 -away 0.2' for a look, 9 minutes
	@go run ./bench/chaos/run $(ARGS)

drills: build ## stage incidents on three real Cassandras and score what people are told of each, 50 minutes; ARGS='-only clients-off' for one, ARGS='-short' for those of make test
	@go run ./bench/drills $(ARGS)

console: $(MODULES) ## build console/dist from its sources (the tests say when it is due)
	@cd console && npm run --silent format && npm run --silent api >/dev/null && npm run --silent build

##@ Pictures and pages

screens: build $(MODULES) ## pictures of the console's pages into docs/screens, of a fleet of recorded frames, 25 minutes
	@go run ./bench/screens $(ARGS)

pictures: bin/ringwatch ## pictures of the terminal into docs/pictures, of what make up started; give its Cassandra some load before
	@go run ./dev/pictures

man: bin/ringwatch ## the man pages of all commands, into bin/man; man -l bin/man/ringwatch.1
	@bin/ringwatch man bin/man

##@ Release

# What make dist makes is in bin/dist: SHA256SUMS is what to sign, SHA256SUMS.asc belongs beside it.
dist: prerequisites $(MODULES) ## what people install of VERSION=1.2.3, in bin/dist: archives, packages, an image, checksums; CHANGELOG.md must have that version, or Unreleased for one such as 1.2.3-rc.1
	@cd dev/dist && go run . -version "$(VERSION)"

##@ Benchmarks

bench: ## Go's micro-benchmarks; make bench-NAME for one of bench/
	@go test -run '^$$' -bench . -benchmem ./...

# Benchmarks: each prints RESULT key=value … and keeps it in bench/results. ARGS are flags of the program;
# it names them with -help, and all have -results.
.PHONY: bench-record bench-agent bench-load bench-closing bench-store bench-ring bench-api bench-query bench-rules bench-console bench-rows bench-embedded bench-fleet
bench-record: build ## record a real node's frames into bench/recordings, 12 minutes
	@go run ./bench/record $(ARGS)

TABLES ?= 1000
bench-agent: build ## what monitoring costs a Cassandra of TABLES=1000 tables, beside the JMX exporter, 30 minutes
	@go run ./bench/agent -tables $(TABLES) $(ARGS)

bench-load: build ## what monitoring takes from Cassandra's users: writes, reads, a mix, beside the JMX exporter; ARGS='-ops 200000' for less
	@go run ./bench/load $(ARGS)

bench-closing: ## what closing the windows of 10,000 nodes and making their hours costs, 15 minutes; ARGS='-nodes 500' for a look, 3 minutes
	@go run ./bench/closing $(ARGS)

bench-store: build ## disk and CPU of writing of v1, v2, v3, Prometheus and VictoriaMetrics; ARGS='-sides v3,prometheus,victoriametrics -nodes 10 -hours 6' without the slow ones
	@go run ./bench/store $(ARGS)

bench-rows: ## rows in a directory: our files beside Pebble, 6 minutes, the first time 2 more; ARGS='-nodes 3 -days 3' for a look
	@go run ./bench/rows $(ARGS)

bench-embedded: prerequisites bin/ringwatch ## ringwatch all in one directory beside a Prometheus that scrapes the same 300 nodes: CPU, memory, disk, freshness, start, the largest fleet; 95 minutes, the first time 5 more; ARGS='-nodes 30 -minutes 2 -parts load,disk,start' for a look, 10 minutes
	@go run ./bench/embedded $(ARGS)

bench-fleet: prerequisites bin/ringwatch ## 10,000 nodes through the whole line, each role a process of its own, and a crowd that asks: acknowledgement, freshness, closing, cores, what was lost; 30 minutes; ARGS='-nodes 300 -closings 1' for a look, 12 minutes
	@go run ./bench/wholefleet $(ARGS)

bench-ring: ## lookups of 50 keys on three and on six nodes: a query per key, IN, grouped, row cache, speculation, a paused replica, 17 minutes; ARGS='-hosts 3' for half of it
	@go run ./bench/ring $(ARGS)

bench-api: prerequisites bin/ringwatch ## a cluster's newest values from Redis and from Cassandra, 1 to 64 clients, 8 minutes
	@go run ./bench/api $(ARGS)

bench-query: prerequisites bin/ringwatch ## dashboards' queries of Ringwatch, Prometheus and VictoriaMetrics, cold, warm and refreshed, and of 10,000 nodes, 25 minutes, the first time 10 more; ARGS='-nodes 4 -hours 2 -trend-days 1 -fleet 100' for a look
	@go run ./bench/query $(ARGS)

bench-rules: prerequisites bin/ringwatch ## the role rules over 1,000 nodes, and the delay of alerts, 9 minutes; ARGS='-nodes 100 -firings 3' for a look
	@go run ./bench/rules $(ARGS)

bench-console: build $(MODULES) ## the console in a browser: fleets of 1,000 and 10,000 nodes, charts, memory; ARGS='-sizes 100' for a look
	@go run ./bench/console $(ARGS)
