// The search of the head.
import { useEffect, useMemo, useState } from "preact/hooks";
import { clusters, metadata, nodes, query } from "./api";
import { useData } from "./data";
import { metricsOf } from "./metrics";
import { go } from "./place";
import { hitsOf, tablesLike } from "./seek";

const hint = "Find a cluster, node, table, metric";

/** A value once it has been the same for so many ms. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => set(value), ms);
    return () => window.clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Finds clusters, nodes, tables and metrics by parts of their names. */
export function Search() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const rarely = { every: 60_000, keep: true };
  const named = useData(
    open ? "search" : null,
    async (signal) => ({ clusters: await clusters(signal), nodes: await nodes({}, signal) }),
    rarely,
  );
  const described = useData(open ? "metadata" : null, metadata, { every: 300_000, keep: true });
  const expr = tablesLike(text);
  const asked = useSettled(expr, 250);
  const tables = useData(open ? asked : null, (s) => query(asked!, s), rarely);
  const metrics = useMemo(() => described.value && metricsOf(described.value), [described.value]);
  const known = { ...named.value, metrics, tables: expr ? tables.value?.result : [] };
  // Clusters and nodes stand first: before they come, Enter would open something else.
  const hits = named.value || named.error ? hitsOf(text, known) : [];
  const lists = [named, described, ...(expr ? [tables] : [])];
  const failed = lists.find((d) => d.error)?.error;
  const waits = asked !== expr || lists.some((d) => d.loading && !d.error);
  const shown = open && text.trim() !== "";
  const choose = (i: number) => {
    const hit = hits[i];
    if (!hit) return;
    go(hit.path, hit.params);
    setText("");
    setOpen(false);
    (document.activeElement as HTMLElement | null)?.blur();
  };
  return (
    <search class="search">
      <input
        id="search"
        type="search"
        {...({ role: "combobox" } as object)}
        aria-label={hint}
        aria-expanded={shown && hits.length > 0}
        aria-controls="found"
        aria-activedescendant={shown && hits[chosen] ? `found-${chosen}` : undefined}
        autocomplete="off"
        placeholder="Find by name   /"
        value={text}
        onFocus={() => setOpen(true)}
        onBlur={() => window.setTimeout(() => setOpen(false), 150)}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown") setChosen(Math.min(chosen + 1, hits.length - 1));
          else if (e.key === "ArrowUp") setChosen(Math.max(chosen - 1, 0));
          else if (e.key === "Enter") choose(chosen);
          else if (e.key === "Escape") {
            setText("");
            e.currentTarget.blur();
          } else return;
          e.preventDefault();
        }}
      />
      <div id="found" role="listbox" aria-label="Found" hidden={!(shown && hits.length > 0)}>
        {hits.map((f, i) => (
          <div
            id={`found-${i}`}
            key={f.path.join("/") + f.name}
            role="option"
            aria-selected={i === chosen}
            onMouseDown={() => choose(i)}
          >
            {f.name} <span class="dim">{f.what}</span>
          </div>
        ))}
      </div>
      <p class="search-none" role="status" hidden={!(shown && hits.length === 0)}>
        {waits
          ? "Searching …"
          : failed
            ? `Not everything could be searched: ${failed.message}.`
            : "Nothing has a name like that."}
      </p>
    </search>
  );
}
