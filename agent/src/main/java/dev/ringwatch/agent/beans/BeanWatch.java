package dev.ringwatch.agent.beans;

import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.MBeanServerDelegate;
import javax.management.MBeanServerNotification;
import javax.management.Notification;
import javax.management.NotificationListener;
import javax.management.ObjectName;

/**
 * Notes the names of beans that come or go. Runs in the host's threads, so it enqueues a name and
 * nothing else and never throws; what a name means now is looked up later, so the order of events
 * does not matter.
 */
public final class BeanWatch implements NotificationListener {
    /**
     * A node with 5,000 tables has over a million beans; beyond so many waiting, all are looked at
     * again.
     */
    private static final int MAX_QUEUED = 2_000_000;

    private final MBeanServer server;
    private final ConcurrentLinkedQueue<ObjectName> touched = new ConcurrentLinkedQueue<>();
    private final AtomicInteger queued = new AtomicInteger();
    private volatile boolean missed = true;

    public BeanWatch(MBeanServer server) throws JMException {
        this.server = server;
        server.addNotificationListener(MBeanServerDelegate.DELEGATE_NAME, this, null, null);
    }

    /** The next name that came or went, or null. */
    public ObjectName poll() {
        if (missed) {
            missed = false;
            Set<ObjectName> all = server.queryNames(null, null);
            queued.addAndGet(all.size());
            touched.addAll(all);
        }
        ObjectName name = touched.poll();
        if (name != null) {
            queued.decrementAndGet();
        }
        return name;
    }

    boolean isEmpty() {
        return !missed && touched.isEmpty();
    }

    @Override
    public void handleNotification(Notification notification, Object handback) {
        try {
            if (!(notification instanceof MBeanServerNotification)) {
                return;
            }
            if (queued.incrementAndGet() > MAX_QUEUED) {
                queued.decrementAndGet();
                missed = true;
            } else {
                touched.add(((MBeanServerNotification) notification).getMBeanName());
            }
        } catch (Throwable never) { // out of memory, perhaps: the host's business comes first
            missed = true;
        }
    }

    void close() {
        try {
            server.removeNotificationListener(MBeanServerDelegate.DELEGATE_NAME, this);
        } catch (JMException gone) {
            // nothing is told any more
        }
    }
}
