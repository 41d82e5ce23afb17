// Where in the console somebody is. All of it is in the address, so that a link shows the same.
import { useEffect, useRef, useState } from "preact/hooks";

/** A place: #/cluster/NAME?range=1h is {path: ["cluster", "NAME"], params: range=1h}. */
export interface Place {
  path: string[];
  params: URLSearchParams;
}

/** Where we are. */
export function place(): Place {
  const [path = "", params = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return {
    path: path.split("/").filter(Boolean).map(decode),
    params: new URLSearchParams(params),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody typed a lone %
  }
}

/** What is the same on all pages, so links keep it. */
const kept = ["range", "from", "to"];

/** A link to a place. The time range goes along; null leaves a parameter out. */
export function link(path: string[], params: Record<string, string | null> = {}): string {
  const now = place().params;
  const all = new URLSearchParams();
  for (const name of kept) {
    const value = now.get(name);
    if (value !== null) all.set(name, value);
  }
  for (const [name, value] of Object.entries(params)) {
    if (value === null) all.delete(name);
    else all.set(name, value);
  }
  const query = all.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query && `?${query}`}`;
}

/** Goes to a place. */
export function go(path: string[], params: Record<string, string | null> = {}): void {
  location.hash = link(path, params);
}

/** Changes parameters of the place where we are; null removes one. Typing replaces the history's
 *  entry, so that Back leaves the page instead of undoing letters. */
export function setParams(change: Record<string, string | null>, replace = true): void {
  const { path, params } = place();
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === "") params.delete(name);
    else params.set(name, value);
  }
  const query = params.toString();
  const hash = `#/${path.map(encodeURIComponent).join("/")}${query && `?${query}`}`;
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, "", hash);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = hash;
  }
}

/** The place, again whenever it changes. */
export function usePlace(): Place {
  const [now, set] = useState(place);
  const seen = useRef(location.hash);
  useEffect(() => {
    const changed = () => set(place());
    window.addEventListener("hashchange", changed);
    if (location.hash !== seen.current) changed(); // before this listened
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return now;
}
