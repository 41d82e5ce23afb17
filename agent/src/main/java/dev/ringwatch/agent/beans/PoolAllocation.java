package dev.ringwatch.agent.beans;

import com.sun.management.GarbageCollectionNotificationInfo;
import com.sun.management.GcInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.MemoryUsage;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

/**
 * Bytes allocated in each memory pool, seen at collections: what a pool holds before one beyond
 * what it held after the last.
 */
final class PoolAllocation implements NotificationListener {
    private final Map<String, Double> allocated = new ConcurrentHashMap<>();
    private final Map<String, Long> last = new HashMap<>();

    PoolAllocation(List<GarbageCollectorMXBean> collectors) {
        for (GarbageCollectorMXBean collector : collectors) {
            if (collector instanceof NotificationEmitter) {
                ((NotificationEmitter) collector).addNotificationListener(this, null, null);
            }
        }
    }

    void read(Reader to) {
        for (Map.Entry<String, Double> pool : allocated.entrySet()) {
            to.accept(pool.getKey(), pool.getValue());
        }
    }

    interface Reader {
        void accept(String pool, double bytes);
    }

    /** Runs in the JVM's service thread. */
    @Override
    public synchronized void handleNotification(Notification notification, Object handback) {
        try {
            String collected = GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION;
            if (!notification.getType().equals(collected)) {
                return;
            }
            CompositeData data = (CompositeData) notification.getUserData();
            GcInfo gc = GarbageCollectionNotificationInfo.from(data).getGcInfo();
            for (Map.Entry<String, MemoryUsage> pool : gc.getMemoryUsageBeforeGc().entrySet()) {
                long before = pool.getValue().getUsed();
                long after = gc.getMemoryUsageAfterGc().get(pool.getKey()).getUsed();
                long known = last.getOrDefault(pool.getKey(), 0L);
                double more = Math.max(0, before - known) + Math.max(0, after - before);
                last.put(pool.getKey(), after);
                if (more > 0) {
                    allocated.merge(pool.getKey(), more, Double::sum);
                }
            }
        } catch (RuntimeException odd) { // another JVM's: there is no such figure
            return;
        }
    }
}
