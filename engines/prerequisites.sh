#!/bin/sh
# Says, a line each, what is missing to build and run Ringwatch, and how to get it on Debian. Plain shell, because Go may be
# what is missing. Prints nothing when all is there.
missing=0
need() { # program, package, what it is for
	command -v "$1" >/dev/null 2>&1 && return
	echo "missing: $1, which $3: apt-get install $2" >&2
	missing=1
}
java_home_has() { [ -n "$JAVA_HOME" ] && [ -x "$JAVA_HOME/bin/$1" ]; }

need go golang-go "builds Ringwatch (1.21 or later, which gets the version in go.mod by itself)"
case "$(go version 2>/dev/null)" in
*" go1."[0-9]" "* | *" go1."[0-9].* | *" go1.1"[0-9]* | *" go1.20"*)
	echo "too old: $(go version | cut -d' ' -f3); Ringwatch needs Go 1.21 or later: Debian 12 has one in its backports" >&2
	missing=1
	;;
esac
java_home_has java || need java openjdk-17-jdk-headless "runs Cassandra and Kafka (version 17)"
java_home_has javac || need javac openjdk-17-jdk-headless "builds the agent (a JDK, not only a runtime)"
need mvn maven "builds the agent and fetches Cassandra and Kafka"
exit $missing
