package dev.ringwatch.agent.host;

import dev.ringwatch.agent.frame.Kind;
import dev.ringwatch.agent.frame.Metric;
import dev.ringwatch.agent.frame.Model;
import dev.ringwatch.agent.frame.Template;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Space and I/O of the disks that hold Cassandra's directories. A directory's disk is found once,
 * as the longest mount point above it in {@code /proc/self/mountinfo}; its I/O is the line of that
 * device in {@code /proc/diskstats}, which a container's overlay does not have.
 */
public final class DiskSource {
    /**
     * After reads and writes: proc_diskstats(5). Sectors are of 512 bytes whatever the disk's are.
     */
    private static final int SECTOR = 512;

    private static final class Disk extends Template.Entity {
        byte[] name;
        File directory;
    }

    private final ProcFile diskstats = new ProcFile("/proc/diskstats");
    private final List<Disk> disks = new ArrayList<>();
    private final List<Disk> filesystems = new ArrayList<>();
    private final Metric size;
    private final Metric free;
    private final Metric available;
    private Metric reads;
    private Metric readBytes;
    private Metric readSeconds;
    private Metric writes;
    private Metric writtenBytes;
    private Metric writeSeconds;
    private Metric inProgress;
    private Metric ioSeconds;

    public DiskSource(Model model, List<String> directories) {
        Template space = model.add(new Template("filesystem", "device", "mount"));
        size = space.add(Metric.scalar("os_filesystem_size_bytes", Kind.GAUGE, "bytes", 0));
        free = space.add(Metric.scalar("os_filesystem_free_bytes", Kind.GAUGE, "bytes", 0));
        available = space.add(
                Metric.scalar("os_filesystem_available_bytes", Kind.GAUGE, "bytes", 0));
        Template io = null;
        List<String> mounts = new ArrayList<>();
        for (String directory : directories) {
            String[] mount = mountOf(directory);
            if (mount == null || mounts.contains(mount[1])) {
                continue;
            }
            mounts.add(mount[1]);
            Disk disk = new Disk();
            disk.directory = new File(directory);
            space.addEntity(disk, mount[0], mount[1]);
            filesystems.add(disk);
            if (hasIo(mount[0])) {
                io = io == null ? ioTemplate(model) : io;
                addIo(io, mount[0]);
            }
        }
    }

    private Template ioTemplate(Model model) {
        Template io = model.add(new Template("disk", "device"));
        reads = io.add(Metric.scalar("os_disk_reads_total", Kind.COUNTER, "", 0));
        readBytes = io.add(Metric.scalar("os_disk_read_bytes_total", Kind.COUNTER, "bytes", 0));
        readSeconds = io.add(
                Metric.scalar("os_disk_read_seconds_total", Kind.COUNTER, "seconds", -3));
        writes = io.add(Metric.scalar("os_disk_writes_total", Kind.COUNTER, "", 0));
        writtenBytes = io.add(
                Metric.scalar("os_disk_written_bytes_total", Kind.COUNTER, "bytes", 0));
        writeSeconds = io.add(
                Metric.scalar("os_disk_write_seconds_total", Kind.COUNTER, "seconds", -3));
        inProgress = io.add(Metric.scalar("os_disk_io_in_progress", Kind.GAUGE, "", 0));
        ioSeconds = io.add(Metric.scalar("os_disk_io_seconds_total", Kind.COUNTER, "seconds", -3));
        return io;
    }

    private void addIo(Template io, String device) {
        byte[] name = device.getBytes(StandardCharsets.UTF_8);
        for (Disk known : disks) {
            if (java.util.Arrays.equals(known.name, name)) {
                return;
            }
        }
        Disk disk = new Disk();
        disk.name = name;
        io.addEntity(disk, device);
        disks.add(disk);
    }

    public void sample() {
        for (int i = 0; i < filesystems.size(); i++) {
            Disk disk = filesystems.get(i);
            size.set(disk.slot(), disk.directory.getTotalSpace());
            free.set(disk.slot(), disk.directory.getFreeSpace());
            available.set(disk.slot(), disk.directory.getUsableSpace());
        }
        if (disks.isEmpty() || !diskstats.reload()) {
            return;
        }
        while (diskstats.line()) {
            diskstats.number();
            diskstats.number();
            diskstats.mark();
            for (int i = 0; i < disks.size(); i++) {
                diskstats.reset();
                if (diskstats.isWord(disks.get(i).name, ' ')) {
                    io(disks.get(i).slot());
                    break;
                }
            }
        }
    }

    private void io(int slot) {
        reads.set(slot, diskstats.number());
        diskstats.number(); // merged
        readBytes.set(slot, diskstats.number() * SECTOR);
        readSeconds.set(slot, diskstats.number());
        writes.set(slot, diskstats.number());
        diskstats.number(); // merged
        writtenBytes.set(slot, diskstats.number() * SECTOR);
        writeSeconds.set(slot, diskstats.number());
        inProgress.set(slot, diskstats.number());
        ioSeconds.set(slot, diskstats.number());
    }

    /** Device name and mount point, or null. Fields of mountinfo: proc(5). */
    private static String[] mountOf(String directory) {
        String[] best = null;
        try {
            Path real = Path.of(directory).toAbsolutePath();
            for (Path up = real; up != null; up = up.getParent()) {
                if (Files.exists(up)) {
                    real = up.toRealPath();
                    break;
                }
            }
            for (String line : Files.readAllLines(Path.of("/proc/self/mountinfo"))) {
                String[] fields = line.split(" ");
                String mount = fields[4].replace("\\040", " ");
                if (real.startsWith(mount)
                        && (best == null || mount.length() >= best[1].length())) {
                    best = new String[] {device(fields[2], line), mount};
                }
            }
        } catch (IOException | RuntimeException unreadable) {
            return null;
        }
        return best;
    }

    /** The kernel's name of a block device, or the mount's source where there is none. */
    private static String device(String majorMinor, String line) throws IOException {
        for (String disk : Files.readAllLines(Path.of("/proc/diskstats"))) {
            String[] fields = disk.trim().split(" +");
            if ((fields[0] + ":" + fields[1]).equals(majorMinor)) {
                return fields[2];
            }
        }
        String[] afterDash = line.substring(line.indexOf(" - ") + 3).split(" ");
        return afterDash.length > 1 ? afterDash[1] : afterDash[0];
    }

    private static boolean hasIo(String device) {
        try {
            for (String disk : Files.readAllLines(Path.of("/proc/diskstats"))) {
                if (disk.trim().split(" +")[2].equals(device)) {
                    return true;
                }
            }
        } catch (IOException | RuntimeException unreadable) {
            return false;
        }
        return false;
    }
}
