// Opens the form that keeps alerts quiet. It stands beside the page, so that it stays when what it
// was opened at goes, and comes when it is opened first.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Matcher, Silence } from "./api";
import { matchersOf, type Target } from "./quiet";

/** What the form begins with: conditions, or a silence that is to be changed or made again. */
export interface Draft {
  matchers: Matcher[];
  of?: Silence;
  closed?: () => void;
}

let draft: Draft | undefined;
let said = ""; // what was done last
const listeners = new Set<() => void>();

function tellAll(): void {
  for (const tell of listeners) tell();
}

/** Opens the form. closed is called when it is closed. */
export function openForm(begin: Draft): void {
  draft = begin;
  tellAll();
}

/** Says for a while what was done. */
export function say(text: string): void {
  said = text;
  tellAll();
}

const saysFor = 8000; // ms

type FormOf = ComponentType<{ begin: Draft; close: () => void }>;

/** The place of the form, which is loaded when it is opened first, and of what was done. */
export function QuietForm({ load }: { load: () => Promise<FormOf> }) {
  const [, again] = useState(0);
  const [Form, setForm] = useState<FormOf | null>(null);
  useEffect(() => {
    const tell = () => again((n) => n + 1);
    listeners.add(tell);
    tell(); // it may have been opened before this listened
    return () => void listeners.delete(tell);
  }, []);
  useEffect(() => {
    if (!said) return;
    const timer = window.setTimeout(() => say(""), saysFor);
    return () => window.clearTimeout(timer);
  }, [said]);
  const close = () => {
    const { closed } = draft ?? {};
    draft = undefined;
    tellAll();
    closed?.();
  };
  useEffect(() => {
    if (!draft || Form) return;
    load().then(
      (loaded) => setForm(() => loaded),
      () => {
        close();
        say("The form could not be loaded: is the process api up? Press again.");
      },
    );
  }, [draft, Form]);
  return (
    <>
      <p class={said ? "quiet-said" : "sr"} role="status">
        {said}
      </p>
      {draft && Form && <Form begin={draft} close={close} />}
    </>
  );
}

/** A button that opens the form for a target. */
export function QuietButton({ of, what }: { of: Target; what: string }) {
  return (
    <button
      type="button"
      class="quiet-button"
      aria-haspopup="dialog"
      aria-label={`Quiet… ${what}`}
      onClick={() => openForm({ matchers: matchersOf(of) })}
    >
      Quiet…
    </button>
  );
}

/** The form's beginning for a silence that is changed, or made again. */
export const draftOf = (of: Silence): Draft => ({ matchers: of.matchers, of });
