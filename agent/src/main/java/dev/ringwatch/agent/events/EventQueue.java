package dev.ringwatch.agent.events;

import dev.ringwatch.agent.frame.Event;
import dev.ringwatch.agent.frame.FrameEncoder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * Events that wait for a frame: {@value #PER_FRAME} go into one and {@value #PER_MINUTE} into a
 * minute, of one kind at most half of that, so a flood of warnings leaves room for what matters.
 *
 * <p>What is the same as something less than a minute ago is not told again but added up, and told
 * when the minute is over, with the label {@code times}: so the first of it is seen at once, and
 * all of it costs two events a minute.
 *
 * <p>What is taken stays until {@link #sent}: a frame that could not be made loses none.
 */
final class EventQueue {
    static final int PER_FRAME = 20;
    static final int PER_MINUTE = 200;
    static final int PER_KIND = PER_MINUTE / 2;
    static final int WAITING = 200;
    static final int REMEMBERED = 400;

    static final String MINUTE = "minute";
    static final String FULL = "queue_full";
    static final String INBOX = "inbox_full";

    /** Numbers that tell how much: no part of what makes two events the same. */
    private static final List<String> LARGEST =
            List.of("slowest_seconds", "duration_seconds", "size_bytes", "tombstones");
    private static final String TIMES = "times";
    private static final String MESSAGES = "messages";

    private final LongSupplier clock;
    private final ArrayDeque<Event> waiting = new ArrayDeque<>();
    private final Rate all = new Rate(PER_MINUTE);
    private final Map<EventKind, Rate> byKind = new EnumMap<>(EventKind.class);
    /** By what makes them the same, oldest first. */
    private final LinkedHashMap<String, Repeat> repeats = new LinkedHashMap<>();
    private final Map<String, Long> dropped = new TreeMap<>();

    /** What has happened again since it was told. */
    private static final class Repeat {
        final EventKind kind;
        final long until;
        long times;
        Event last;

        Repeat(EventKind kind, long until) {
            this.kind = kind;
            this.until = until;
        }
    }

    /** @param clock in milliseconds, and never set */
    EventQueue(LongSupplier clock) {
        this.clock = clock;
        dropped.put(MINUTE, 0L);
        dropped.put(FULL, 0L);
        dropped.put(INBOX, 0L);
    }

    /** How often an event says that it happened. */
    static long times(Event event) {
        String times = event.labels.get(TIMES);
        return times == null ? 1 : Math.max(1, Long.parseLong(times));
    }

    void add(EventKind kind, Event event) {
        if (!kind.repeats) {
            admit(kind, event);
            return;
        }
        String same = same(event);
        Repeat repeat = repeats.get(same);
        if (repeat != null) {
            repeat.times += times(event);
            repeat.last = repeat.last == null ? event : merged(repeat.last, event);
            return;
        }
        if (admit(kind, event) && repeats.size() < REMEMBERED) {
            repeats.put(same, new Repeat(kind, clock.getAsLong() + Rate.MINUTE_MS));
        }
    }

    /** Tells what is added up, where its minute is over. */
    void look() {
        if (repeats.isEmpty()) {
            return;
        }
        long now = clock.getAsLong();
        List<Repeat> over = new ArrayList<>(0);
        for (Iterator<Repeat> all = repeats.values().iterator(); all.hasNext();) {
            Repeat repeat = all.next();
            if (repeat.until > now) {
                break;
            }
            all.remove();
            over.add(repeat);
        }
        for (Repeat repeat : over) {
            tell(repeat, now);
        }
    }

    private void tell(Repeat repeat, long now) {
        if (repeat.times == 0) {
            return;
        }
        Event last = repeat.last;
        Map<String, String> labels = new HashMap<>(last.labels);
        labels.put(TIMES, Long.toString(repeat.times));
        Event event = new Event(last.at, last.kind, last.severity, labels, last.text);
        if (admit(repeat.kind, event)) {
            repeats.put(same(event), new Repeat(repeat.kind, now + Rate.MINUTE_MS));
        }
    }

    /** Before the agent ends: nothing is added up for later. */
    void flush() {
        List<Repeat> open = new ArrayList<>(repeats.values());
        repeats.clear();
        for (Repeat repeat : open) {
            tell(repeat, clock.getAsLong());
        }
    }

    private static String same(Event event) {
        StringBuilder key = new StringBuilder(event.kind).append('\n').append(event.severity);
        for (Map.Entry<String, String> label : event.labels.entrySet()) {
            String name = label.getKey();
            if (!LARGEST.contains(name) && !name.equals(TIMES) && !name.equals(MESSAGES)) {
                key.append('\n').append(name).append('=').append(label.getValue());
            }
        }
        return key.append('\n').append(event.text).toString();
    }

    private static Event merged(Event before, Event now) {
        Map<String, String> labels = new HashMap<>(now.labels);
        for (String name : LARGEST) {
            String was = before.labels.get(name);
            if (was != null && (labels.get(name) == null
                    || number(was) > number(labels.get(name)))) {
                labels.put(name, was);
            }
        }
        if (labels.containsKey(MESSAGES) && before.labels.containsKey(MESSAGES)) {
            labels.put(MESSAGES, Long.toString((long) (number(labels.get(MESSAGES))
                    + number(before.labels.get(MESSAGES)))));
        }
        return new Event(now.at, now.kind, now.severity, labels, now.text);
    }

    private static double number(String value) {
        try {
            return Double.parseDouble(value);
        } catch (NumberFormatException none) {
            return 0;
        }
    }

    private boolean admit(EventKind kind, Event event) {
        if (isFull(kind)) {
            drop(MINUTE, times(event));
            return false;
        }
        if (waiting.size() >= WAITING) {
            drop(FULL, times(event));
            return false;
        }
        long now = clock.getAsLong();
        all.take(now);
        rate(kind).take(now);
        waiting.addLast(event);
        return true;
    }

    /** Whether the minute has no room for another of that kind. */
    boolean isFull(EventKind kind) {
        long now = clock.getAsLong();
        return !all.allows(now) || !rate(kind).allows(now);
    }

    private Rate rate(EventKind kind) {
        return byKind.computeIfAbsent(kind, k -> new Rate(PER_KIND));
    }

    void drop(String reason, long events) {
        dropped.merge(reason, events, Long::sum);
    }

    Map<String, Long> dropped() {
        return dropped;
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Nobody will ever send them. */
    void clear() {
        waiting.clear();
    }

    /**
     * What the frame of that instant can say, by ascending time; it stays here until {@link #sent}.
     * What has happened since that instant is the next frame's, but for times that lie a minute
     * ahead: the clock was set.
     */
    List<Event> next(long at) {
        List<Event> next = new ArrayList<>(0);
        int bytes = 16;
        for (Event event : waiting) {
            if (event.at > at && event.at - at < Rate.MINUTE_MS) {
                continue;
            }
            bytes += event.bytes();
            if (next.size() == PER_FRAME || bytes > FrameEncoder.MAX_EVENT_BYTES) {
                break;
            }
            next.add(event);
        }
        return next;
    }

    /** As a frame wants what {@link #next} gave. */
    static List<Event> inFrame(List<Event> events, long at) {
        List<Event> fitted = new ArrayList<>(events.size());
        for (Event event : events) {
            long time = Math.max(1, Math.min(at, event.at));
            fitted.add(time == event.at ? event
                    : new Event(time, event.kind, event.severity, event.labels, event.text));
        }
        fitted.sort(Comparator.comparingLong(event -> event.at));
        return fitted;
    }

    /** They are in a frame that was queued. */
    void sent(List<Event> events) {
        for (Event event : events) { // each is the same object, most likely the first
            for (Iterator<Event> all = waiting.iterator(); all.hasNext();) {
                if (all.next() == event) {
                    all.remove();
                    break;
                }
            }
        }
    }
}
