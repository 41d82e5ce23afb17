// The field that filters a list by names. What is typed is q in the address.
import { setParams, usePlace } from "./place";

/** What is asked for, in small letters; empty: everything. */
export function useFilter(): string {
  return (usePlace().params.get("q") ?? "").toLowerCase();
}

/** The field, and how much of the list is shown. */
export function Filter({
  name,
  hint,
  shown,
  all,
}: {
  name: string; // of the field, for whoever does not see it
  hint: string;
  shown: number;
  all: number;
}) {
  const { params } = usePlace();
  return (
    <>
      <label class="field">
        <span class="sr">{name}</span>
        <input
          type="search"
          placeholder={hint}
          size={hint.length}
          value={params.get("q") ?? ""}
          onInput={(e) => setParams({ q: e.currentTarget.value })}
        />
      </label>
      <span class="dim">
        {shown} of {all}
      </span>
    </>
  );
}
