// The processes of Ringwatch, as they say they are.
import type { Sample } from "../api";
import { together } from "../ask";
import { type Column, Table } from "../table";
import { stamp, useUTC } from "../time";
import { format, number } from "../units";

/** What the processes say of themselves, and where. */
export const processes = together([
  "ringwatch_process_up",
  'process_resident_memory_bytes{job="ringwatch"}',
  'rate(process_cpu_seconds_total{job="ringwatch"}[2m])',
  'process_start_time_seconds{job="ringwatch"}',
  "ringwatch_memory_limit_bytes",
  "time() - (process:ringwatch_process_up:timestamp > 0)",
]);

interface Process {
  instance: string;
  role: string;
  up: number;
  memory: number;
  cpu: number;
  started: number;
  limit: number;
  silent: number;
}

const fields = ["up", "memory", "cpu", "started", "limit", "silent"] as const;

/** The processes, those that are silent first. */
export function Processes({ list }: { list: Sample[] }) {
  useUTC(); // the table's times follow it
  const map = new Map<string, Process>();
  for (const s of list) {
    const { instance = "", role = "" } = s.metric;
    const id = `${instance} ${role}`;
    let p = map.get(id);
    if (!p) {
      const none = Number.NaN;
      p = {
        instance,
        role,
        up: none,
        memory: none,
        cpu: none,
        started: none,
        limit: none,
        silent: none,
      };
      map.set(id, p);
    }
    p[fields[Number(s.metric.q)]!] = number(s.value?.[1]);
  }
  const rows = [...map.values()].sort(
    (a, b) => Number(runs(a)) - Number(runs(b)) || (a.instance < b.instance ? -1 : 1),
  );
  const columns: Column<Process>[] = [
    {
      id: "instance",
      title: "process",
      width: 2,
      cell: (p) => <span title={p.instance}>{p.instance}</span>,
      order: (p) => p.instance,
    },
    { id: "role", title: "role", cell: (p) => p.role, order: (p) => p.role },
    {
      id: "state",
      title: "state",
      width: 1.6,
      cell: (p) =>
        runs(p) ? (
          <span class="state up">
            <span aria-hidden="true">●</span> runs
          </span>
        ) : (
          <span class="state down">
            <span aria-hidden="true">○</span> silent {format(p.silent, "seconds")}
          </span>
        ),
      order: (p) => Number(!runs(p)),
    },
    {
      id: "memory",
      title: "memory",
      number: true,
      cell: (p) => format(p.memory, "bytes"),
      order: (p) => p.memory,
    },
    {
      id: "limit",
      title: "its limit",
      number: true,
      wide: true,
      cell: (p) => format(p.limit, "bytes"),
      order: (p) => p.limit,
    },
    {
      id: "cpu",
      title: "CPU",
      number: true,
      cell: (p) => format(100 * p.cpu, "percent"),
      order: (p) => p.cpu,
    },
    {
      id: "started",
      title: "started",
      width: 1.6,
      number: true,
      wide: true,
      cell: (p) => (Number.isNaN(p.started) ? "–" : stamp(p.started)),
      order: (p) => p.started,
    },
  ];
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>Processes</h2>
        <span class="dim">CPU is of one core</span>
      </div>
      <Table
        name="Processes of Ringwatch"
        columns={columns}
        rows={rows}
        id={(p) => `${p.instance} ${p.role}`}
        bad={(p) => !runs(p)}
        height={320}
      />
    </section>
  );
}

const runs = (p: Process) => p.up === 1 && !(p.silent > 90);
