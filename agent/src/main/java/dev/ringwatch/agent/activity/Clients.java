package dev.ringwatch.agent.activity;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import org.apache.cassandra.metrics.ClientMetrics;
import org.apache.cassandra.transport.ConnectedClient;

/** Who is connected: what is behind {@code system_views.clients}. */
final class Clients {
    private final Drivers drivers;

    Clients(Drivers drivers) {
        this.drivers = drivers;
    }

    void sample(long pass, int passesPerMinute) {
        if (!drivers.isDue(pass, passesPerMinute)) {
            return;
        }
        List<ConnectedClient> all = ClientMetrics.instance.allConnectedClients();
        drivers.begin(pass);
        for (ConnectedClient client : all) {
            if (!client.stage().toString().equals("READY")) { // who it is is not known yet
                continue;
            }
            InetSocketAddress from = client.remoteAddress();
            drivers.see(from, client.requestCount(), text(client.driverName()),
                    text(client.driverVersion()), client.protocolVersion(),
                    text(client.username()), client.sslEnabled());
        }
        drivers.end();
    }

    private static String text(Optional<String> said) {
        return said.isPresent() ? said.get() : "";
    }
}
