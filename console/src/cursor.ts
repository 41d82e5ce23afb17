// One cursor for all charts and heat maps of a page: the instant that somebody points at. uPlot's
// own charts share it among themselves; this brings it to maps, and from them.
type Told = (at: number | null, by: object) => void;

const told = new Set<Told>();

/** Says that somebody points at an instant, in seconds, on a picture; null: no more. */
export function point(at: number | null, by: object): void {
  for (const tell of told) tell(at, by);
}

/** Calls tell whenever another picture is pointed at, until what it returns is called. */
export function onPoint(tell: Told): () => void {
  told.add(tell);
  return () => void told.delete(tell);
}
