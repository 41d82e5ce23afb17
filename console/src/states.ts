// The states of nodes that have not left: their order, their signs, their words.

/** A state, the worst first. */
const list = [
  ["down", "○", 1e6],
  ["not_serving", "⊘", 2e5],
  ["late", "◐", 1e4],
  ["paused", "◫", 1e3],
  ["joining", "◔", 500],
  ["leaving", "◕", 500],
  ["up", "●", 0],
] as const;

/** All states, the best first. */
export const states = list.map(([state]) => state as string).reverse();

/** Those that few nodes are ever in; who has none need not read of them. */
export const isRare = (state: string): boolean => !["up", "late", "down"].includes(state);

/** The sign of a state; one of its own stands for how a node has left. */
export const signOf = (state: string): string => list.find(([s]) => s === state)?.[1] ?? "◇";

/** A state in words. */
export const wordOf = (state: string): string => state.replaceAll("_", " ");

/** How bad a state is: a critical alert counts 1e5, another one 1e3. */
export const worthOfState = (state: string): number => list.find(([s]) => s === state)?.[2] ?? 0;
