// A button that copies text.
import { useEffect, useRef, useState } from "preact/hooks";

/** Copies text; where the browser does not allow that, shows it to be copied by hand. */
export function Copy({
  name,
  text,
  disabled,
}: {
  name: string;
  text: () => string;
  disabled?: boolean;
}) {
  const [state, setState] = useState<"" | "copied" | "shown">("");
  const dialog = useRef<HTMLDialogElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (state === "shown") {
      dialog.current?.showModal();
      area.current?.select();
    }
    if (state !== "copied") return;
    const timer = window.setTimeout(() => setState(""), 2000);
    return () => window.clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setState("copied");
    } catch {
      setState("shown");
    }
  };
  return (
    <>
      <button type="button" class="plain toggle" disabled={disabled} onClick={copy}>
        {name}
      </button>
      <span role="status" class="dim">
        {state === "copied" && "copied"}
      </span>
      {state === "shown" && (
        <dialog ref={dialog} onClose={() => setState("")} aria-label={name}>
          <h2>{name}</h2>
          <p class="dim">The browser does not let this page copy. Copy the text from here:</p>
          <textarea ref={area} readOnly rows={10} cols={60} aria-label={name} value={text()} />
          <form method="dialog">
            <button type="submit">Close</button>
          </form>
        </dialog>
      )}
    </>
  );
}
