package dev.ringwatch.agent.events;

import dev.ringwatch.agent.frame.Event;
import dev.ringwatch.agent.frame.Event.Severity;
import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * The node's events, from the sources to the frames, and how many there were as metrics. All of it
 * is used by the agent's threads under the model's lock.
 */
public final class Events {
    private static final EventKind[] KINDS = EventKind.values();
    private static final Severity[] SEVERITIES = Severity.values();

    private final Inbox inbox;
    private final List<EventSource> sources;
    private final LogReader reader;
    private final EventQueue queue;
    private final boolean sends;
    private final Template template;
    private final Metric total;
    private final Map<String, Template.Entity> counted = new HashMap<>();
    private final Map<String, Long> counts = new HashMap<>();
    private final Template drops;
    private final Metric dropped;
    private final Map<String, Template.Entity> reasons = new HashMap<>();
    private boolean open;
    /** Sources that threw. */
    private long errors;

    /**
     * @param sources in whose inbox they leave what they see; none: there are no events
     * @param keys whether partition keys may be sent
     * @param sends whether frames are made, else events are counted and forgotten
     */
    public Events(Model model, Inbox inbox, List<EventSource> sources, SchemaNames schema,
            boolean keys, boolean sends) {
        this(model, inbox, sources, schema, keys, sends, () -> System.nanoTime() / 1_000_000);
    }

    Events(Model model, Inbox inbox, List<EventSource> sources, SchemaNames schema, boolean keys,
            boolean sends, LongSupplier clock) {
        this.inbox = inbox;
        this.sources = sources;
        this.sends = sends;
        queue = new EventQueue(clock);
        reader = new LogReader(schema, keys, queue::isFull, this::take);
        template = model.add(new Template("event", "kind", "severity"));
        total = template.add(Metric.scalar("ringwatch_events_total", Kind.COUNTER, "", 0));
        for (EventKind kind : KINDS) {
            for (Severity severity : kind.usual) {
                count(kind.word, severity, 0);
            }
        }
        drops = model.add(new Template("agent_event_drop", "reason"));
        dropped = drops.add(Metric.scalar("ringwatch_agent_events_dropped_total", Kind.COUNTER, "",
                0));
        showDrops();
    }

    /** Something that no source has seen. */
    public void happened(long at, EventKind kind, Map<String, String> labels, String text) {
        inbox.add(Seen.event(at, kind, kind.usual[0], labels, text));
    }

    /** Begins to notice; after a pause, again. */
    public void open() {
        if (open) {
            return;
        }
        open = true;
        for (EventSource source : sources) {
            try {
                source.open();
            } catch (RuntimeException | LinkageError otherVersion) {
                errors++;
            }
        }
    }

    /** Notices nothing more: the agent pauses or ends. */
    public void close() {
        if (!open) {
            return;
        }
        open = false;
        for (EventSource source : sources) {
            try {
                source.close();
            } catch (RuntimeException | LinkageError otherVersion) {
                errors++;
            }
        }
    }

    /** In a pass: looks at the sources, reads what they left and counts. */
    public void sample(boolean slowTurn) {
        open();
        for (EventSource source : sources) {
            try {
                source.look(slowTurn);
            } catch (RuntimeException | LinkageError otherVersion) {
                errors++;
            }
        }
        read();
    }

    /** Without a look at the sources, which may take long. */
    public void last() {
        read();
        queue.flush();
        showDrops();
    }

    private void read() {
        inbox.drain(this::read);
        for (EventKind kind : KINDS) {
            for (Severity severity : SEVERITIES) {
                long refused = inbox.takeRefused(kind, severity);
                if (refused > 0) {
                    count(kind.word, severity, refused);
                    queue.drop(EventQueue.INBOX, refused);
                }
            }
        }
        queue.drop(EventQueue.INBOX, inbox.takeUnread());
        queue.look();
        if (!sends) {
            queue.clear();
        }
        showDrops();
    }

    private void read(Seen seen) {
        try {
            if (seen.isLogLine) {
                reader.read(seen);
            } else {
                take(seen.kind, new Event(seen.at, seen.kind.word, seen.severity, seen.labels,
                        seen.text));
            }
        } catch (RuntimeException | StackOverflowError unreadable) {
            errors++;
        }
    }

    private void take(EventKind kind, Event event) {
        count(event.kind, event.severity, EventQueue.times(event));
        queue.add(kind, event);
    }

    private void count(String kind, Severity severity, long times) {
        String key = kind + " " + severity.word;
        Template.Entity entity = counted.get(key);
        if (entity == null) {
            entity = new Template.Entity();
            template.addEntity(entity, kind, severity.word);
            counted.put(key, entity);
        }
        long now = counts.merge(key, times, Long::sum);
        total.set(entity.slot(), now);
    }

    private void showDrops() {
        for (Map.Entry<String, Long> entry : queue.dropped().entrySet()) {
            Template.Entity entity = reasons.get(entry.getKey());
            if (entity == null) {
                entity = new Template.Entity();
                drops.addEntity(entity, entry.getKey());
                reasons.put(entry.getKey(), entity);
            }
            dropped.set(entity.slot(), entry.getValue());
        }
    }

    /** What the frame of that instant can say; it waits here until {@link #sent}. */
    public List<Event> next(long at) {
        return queue.isEmpty() ? List.of() : queue.next(at);
    }

    /** As the frame's encoder wants them. */
    public static List<Event> inFrame(List<Event> events, long at) {
        return events.isEmpty() ? events : EventQueue.inFrame(events, at);
    }

    public void sent(List<Event> events) {
        if (!events.isEmpty()) {
            queue.sent(events);
        }
    }

    public long errors() {
        return errors;
    }
}
