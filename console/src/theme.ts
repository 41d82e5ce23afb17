// Light or dark: what somebody chose, or what the system has. Style sheets know it as data-theme.
import { useEffect, useState } from "preact/hooks";

/** What can be chosen; empty: as the system is. */
export type Choice = "" | "light" | "dark";

const name = "ringwatch.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const told = new Set<() => void>();

/** What is chosen. */
export function chosen(): Choice {
  const text = localStorage.getItem(name);
  return text === "light" || text === "dark" ? text : "";
}

/** Chooses, and keeps it. */
export function choose(choice: Choice): void {
  localStorage.setItem(name, choice);
  apply();
}

function apply(): void {
  document.documentElement.dataset.theme = theme();
  for (const tell of told) tell();
}

function theme(): "light" | "dark" {
  return chosen() || (system.matches ? "dark" : "light");
}

system.addEventListener("change", apply);
apply();

/** The theme, again whenever it changes: canvases know nothing of style sheets. */
export function useTheme(): string {
  const [now, set] = useState(theme);
  useEffect(() => {
    const tell = () => set(theme());
    tell(); // it may have changed since the first drawing
    told.add(tell);
    return () => void told.delete(tell);
  }, []);
  return now;
}

/** A colour of the page's style. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
