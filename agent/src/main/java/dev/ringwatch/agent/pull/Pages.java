package dev.ringwatch.agent.pull;

import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The newest page in each format, made when it is first asked for after a pass, whoever asks and
 * however many. A page is made of pieces of some thousand lines; a piece none of whose cells
 * changed since is taken as it is, deflated and all, so a page of an idle node costs a look at its
 * change counts.
 *
 * <p>The model is locked for the text of one piece at a time (RenderBench: 17 ms for 805 of them,
 * warm): that is what a pass waits for. A pass that comes between two pieces makes the page be gone
 * through again, so that it is of one pass; the third time it is locked throughout.
 *
 * <p>Holds the pieces (7 bytes a line where all tables are busy), the labels of each entity and one
 * piece of plain text. For one thread.
 */
final class Pages {
    /** Lines in a piece made of small families. */
    private static final int SMALL_PIECE = 512;
    private static final int ROUNDS = 3;

    /** What becomes one chunk: some families, or one block of one source of a large family. */
    private static final class Piece {
        final List<Family> families = new ArrayList<>();
        /** Of a large family, else null. */
        Family.Source source;
        int block;
        boolean first;
        boolean last;

        Chunk chunk;
        long seen;
        boolean fades;
    }

    private final class Format {
        final boolean open;
        final Lines lines;
        List<Piece> pieces = new ArrayList<>();
        Layout of;
        Page page;
        long pass = -1;

        Format(boolean open) {
            this.open = open;
            lines = new Lines(text, open);
        }
    }

    private final Model model;
    private final List<Profile> profiles;
    private final Text text = new Text(64 * 1024);
    private final Chunk.Maker maker = new Chunk.Maker();
    private final Map<Metric, Recent> recents = new IdentityHashMap<>();
    private final Format plain = new Format(false);
    private final Format open = new Format(true);
    private Layout layout;
    private long now;
    /** Of the pass that the quantiles are of. */
    private long nowOf = -1;
    private volatile long made;
    private volatile long piecesMade;

    Pages(Model model, List<Profile> profiles) {
        this.model = model;
        this.profiles = profiles;
    }

    /** Null before the first pass. */
    Page page(boolean openMetrics) {
        Format format = openMetrics ? open : plain;
        if (model.passes() == 0) {
            return null;
        }
        for (int round = 1; format.pass != model.passes(); round++) {
            if (round < ROUNDS) {
                make(format);
            } else {
                synchronized (model) {
                    make(format);
                }
            }
        }
        return format.page;
    }

    /** Pages that were made, for tests. */
    long made() {
        return made;
    }

    /** Pieces that were made, for tests. */
    long piecesMade() {
        return piecesMade;
    }

    void end() {
        maker.end();
    }

    private void make(Format format) {
        long pass;
        synchronized (model) {
            pass = model.passes();
            if (layout == null || !layout.isCurrent(model)) {
                layout = new Layout(model, profiles, recents);
            }
            if (format.of != layout) {
                format.of = layout;
                format.pieces = pieces(format.open);
            }
        }
        if (pass != nowOf) {
            nowOf = pass;
            now = System.currentTimeMillis();
        }
        List<Piece> pieces = format.pieces;
        Chunk[] chunks = new Chunk[pieces.size()];
        for (int i = 0; i < chunks.length; i++) {
            Piece piece = pieces.get(i);
            boolean changed;
            synchronized (model) {
                changed = write(format, piece);
            }
            if (changed) {
                piece.chunk = maker.make(text);
                piecesMade++;
            }
            chunks[i] = piece.chunk;
        }
        if (model.passes() == pass) {
            format.page = new Page(chunks);
            format.pass = pass;
            made++;
        }
    }

    /** Writes the piece's text if it may be another than before. */
    private boolean write(Format format, Piece piece) {
        long seen = changes(piece);
        if (piece.chunk != null && !piece.fades && piece.seen == seen) {
            return false;
        }
        piece.seen = seen;
        text.clear();
        for (Family family : piece.families) {
            if (piece.source != null) {
                format.lines.part(family, piece.first);
                format.lines.slots(family, piece.source, piece.block * Metric.BLOCK,
                        (piece.block + 1) * Metric.BLOCK, now);
                continue;
            }
            format.lines.begin(family);
            for (Family.Source source : family.sources) {
                format.lines.slots(family, source, 0, Metric.BLOCK, now);
            }
        }
        piece.fades = format.lines.fades();
        if (piece.last) {
            format.lines.eof();
        }
        return true;
    }

    /** Change counts only rise, so their sum stands still only if each of them does. */
    private static long changes(Piece piece) {
        if (piece.source != null) {
            return piece.source.metric.changes(piece.block);
        }
        long sum = 0;
        for (int f = 0; f < piece.families.size(); f++) {
            List<Family.Source> sources = piece.families.get(f).sources;
            for (int s = 0; s < sources.size(); s++) {
                sum += sources.get(s).metric.changes(0) & 0xFFFFFFFFL;
            }
        }
        return sum;
    }

    private List<Piece> pieces(boolean openMetrics) {
        List<Piece> pieces = new ArrayList<>();
        Piece small = null;
        int lines = 0;
        for (Family family : layout.families) {
            if (family.isLarge()) {
                small = null;
                large(family, pieces);
                continue;
            }
            if (small == null || lines > SMALL_PIECE) {
                small = new Piece();
                lines = 0;
                pieces.add(small);
            }
            small.families.add(family);
            for (Family.Source source : family.sources) {
                lines += source.template.slots() * (family.type.isScalar()
                        && source.part != Family.Part.BUCKETS ? 1 : 20);
            }
        }
        if (openMetrics) {
            Piece end = new Piece();
            end.last = true;
            pieces.add(end);
        }
        return pieces;
    }

    private static void large(Family family, List<Piece> pieces) {
        boolean first = true;
        for (Family.Source source : family.sources) {
            for (int block = 0; block * Metric.BLOCK < source.template.slots(); block++) {
                Piece piece = new Piece();
                piece.families.add(family);
                piece.source = source;
                piece.block = block;
                piece.first = first;
                first = false;
                pieces.add(piece);
            }
        }
    }
}
