package dev.ringwatch.agent.activity;

import dev.ringwatch.agent.filter.Filters;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Model;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Connections by what is alike: driver, protocol, user, encryption. A group's requests are what its
 * connections have added, so the counter goes on when they end.
 */
final class Drivers {
    static final int MAX_GROUPS = 200;
    /** Of more, requests are not counted: a hundred bytes each is enough to hold. */
    static final int MAX_CONNECTIONS = 65_536;
    static final int MAX_TEXT = 4096;
    /** Of all groups: a key frame must stay small where there are many. */
    private static final int MAX_ALL_TEXT = 65_536;
    /** So many are read in a pass without a thought. */
    private static final int FEW = 256;
    /** A group nobody was in for so many passes ends. */
    private static final int ENDS_AFTER = 720;
    private static final String OTHER = "other";

    /** What is alike, as labels: two that look the same as labels are one. */
    private static final class Who {
        final String driver;
        final String version;
        final int protocol;
        final String user;
        final boolean tls;

        Who(String driver, String version, int protocol, String user, boolean tls) {
            this.driver = driver;
            this.version = version;
            this.protocol = protocol;
            this.user = user;
            this.tls = tls;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Who && ((Who) other).driver.equals(driver)
                    && ((Who) other).version.equals(version) && ((Who) other).protocol == protocol
                    && ((Who) other).user.equals(user) && ((Who) other).tls == tls;
        }

        @Override
        public int hashCode() {
            return Objects.hash(driver, version, protocol, user, tls);
        }
    }

    private static final class Group {
        final Rows.Row row;
        final List<InetSocketAddress> from = new ArrayList<>();
        int connections;
        long requests;
        /** Of its addresses, whatever their order. */
        long hash;
        long hashOfText;
        int allowed;
        long lastPass;

        Group(Rows.Row row) {
            this.row = row;
        }
    }

    private static final class Connection {
        long requests;
        long pass;
    }

    private final Rows rows;
    private final int connections;
    private final int requests;
    private final int addresses;
    private final Map<Who, Group> groups = new HashMap<>();
    private Group other;
    private final Map<InetSocketAddress, Connection> known = new HashMap<>();
    private long pass;
    private int seen;

    Drivers(Model model, Filters filters) {
        rows = new Rows(model, filters, "driver", "driver_name", "driver_version",
                "protocol_version", "username", "tls");
        connections = rows.add("cassandra_driver_connections", Kind.GAUGE, "", 0);
        requests = rows.add("cassandra_driver_requests_total", Kind.COUNTER, "", 0);
        addresses = rows.add("cassandra_driver_addresses_info", Kind.STRING, "", 0);
    }

    /** Ten thousand connections take some milliseconds, so many are read once a minute. */
    boolean isDue(long now, int passesPerMinute) {
        return now - pass >= Math.min(passesPerMinute, 1 + seen / FEW);
    }

    void begin(long now) {
        pass = now;
        seen = 0;
        for (Group group : groups.values()) {
            clear(group);
        }
        if (other != null) {
            clear(other);
        }
    }

    private static void clear(Group group) {
        group.connections = 0;
        group.hash = 0;
        group.from.clear();
    }

    void see(InetSocketAddress from, long count, String driver, String version, int protocol,
            String user, boolean tls) {
        if (from == null) { // its channel is closed already
            return;
        }
        seen++;
        Group group = group(new Who(Rows.label(driver, "unknown"),
                Rows.label(version, "unknown"), protocol, Rows.label(user, "unknown"), tls));
        group.connections++;
        group.lastPass = pass;
        group.hash += mixed(from.hashCode());
        group.from.add(from);
        Connection connection = known.get(from);
        if (connection == null) {
            if (known.size() >= MAX_CONNECTIONS) {
                return;
            }
            connection = new Connection();
            known.put(from, connection);
        }
        // fewer than before: another connection from the same port
        group.requests += count >= connection.requests ? count - connection.requests : count;
        connection.requests = count;
        connection.pass = pass;
    }

    private static long mixed(int hash) {
        long mixed = (hash + 1L) * 0x9E3779B97F4A7C15L;
        return mixed ^ mixed >>> 32;
    }

    private Group group(Who who) {
        Group group = groups.get(who);
        if (group == null && groups.size() >= MAX_GROUPS) {
            endOneThatIsEmpty();
        }
        if (group == null && groups.size() < MAX_GROUPS) {
            group = new Group(rows.begin(who.driver, who.version,
                    Integer.toString(who.protocol), who.user, Boolean.toString(who.tls)));
            groups.put(who, group);
        }
        if (group != null) {
            return group;
        }
        if (other == null) {
            other = new Group(rows.begin(OTHER, OTHER, OTHER, OTHER, OTHER));
        }
        return other;
    }

    private void endOneThatIsEmpty() {
        for (Iterator<Group> all = groups.values().iterator(); all.hasNext();) {
            Group group = all.next();
            if (group.lastPass < pass && group.connections == 0) {
                rows.end(group.row);
                all.remove();
                return;
            }
        }
    }

    void end() {
        known.values().removeIf(connection -> connection.pass != pass);
        int each = Math.min(MAX_TEXT, MAX_ALL_TEXT / Math.max(1, groups.size() + 1));
        for (Iterator<Group> all = groups.values().iterator(); all.hasNext();) {
            Group group = all.next();
            if (pass - group.lastPass > ENDS_AFTER) {
                rows.end(group.row);
                all.remove();
            } else {
                show(group, each);
            }
        }
        if (other != null) {
            show(other, each);
        }
    }

    private void show(Group group, int most) {
        rows.set(group.row, connections, group.connections);
        rows.set(group.row, requests, group.requests);
        if (group.connections == 0) {
            rows.absent(group.row, addresses);
            group.allowed = 0;
        } else if (group.hash != group.hashOfText || group.allowed != most) {
            rows.setText(group.row, addresses, joined(group.from, most));
            group.hashOfText = group.hash;
            group.allowed = most;
        }
    }

    /** In an order that stays, so that a frame repeats little. */
    static String joined(List<InetSocketAddress> from, int most) {
        List<String> texts = new ArrayList<>(from.size());
        for (InetSocketAddress address : from) {
            texts.add(text(address));
        }
        texts.sort(null);
        StringBuilder joined = new StringBuilder();
        for (String text : texts) {
            if (joined.length() + text.length() + 4 > most) {
                return joined.append(",…").toString();
            }
            joined.append(joined.length() > 0 ? "," : "").append(text);
        }
        return joined.toString();
    }

    private static String text(InetSocketAddress address) {
        String host = address.getAddress() == null ? address.getHostString()
                : address.getAddress().getHostAddress();
        return (host.indexOf(':') >= 0 ? '[' + host + ']' : host) + ':' + address.getPort();
    }
}
