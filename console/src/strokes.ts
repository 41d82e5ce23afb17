// How lines look: a line's look belongs to its name, not to its place among the others.
import type { Lines } from "./lines";

/** How a line is drawn. */
export type Style = [colour: number, dash: number[]];

const dashes = [[], [6, 4], [2, 3]];
const colours = 8;
const looks = colours * dashes.length;

/** The look that a name has where no other one has it: FNV-1a of its letters. */
function hash(name: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
  return (h ^ (h >>> 15)) >>> 0;
}

/**
 * Colours first, then dashes; a line beside another one has its colour and is dashed. had are the
 * looks that names have had in the chart: they keep them while others come and go, and get them
 * back when they come again. New names are added to it.
 */
export function stylesOf(
  { names, beside }: Pick<Lines, "names" | "beside">,
  had: Map<string, number>,
): Style[] {
  const own = names.map((n, i) => beside?.[i] ?? n);
  const drawn = new Set(own);
  for (const name of [...drawn].filter((n) => !had.has(n)).sort()) {
    if (had.size >= looks) {
      const gone = [...had.keys()].find((n) => !drawn.has(n));
      if (gone !== undefined) had.delete(gone);
    }
    const taken = new Set(had.values());
    const first = hash(name) % colours;
    let look = first;
    for (let i = 0; i < looks && taken.has(look); i++) {
      look = Math.floor(i / colours) * colours + ((first + i) % colours);
    }
    had.set(name, look);
  }
  return own.map((name, i) => {
    const look = had.get(name)!;
    return [look % colours, beside?.[i] ? [6, 4] : dashes[Math.floor(look / colours)]!];
  });
}
