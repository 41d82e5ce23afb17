// Fields that filter lists. What is typed or chosen is in the address.
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
  return (
    <>
      <Field name={name} hint={hint} />
      <span class="dim">
        {shown} of {all}
      </span>
    </>
  );
}

/** The field alone. */
export function Field({ name, hint }: { name: string; hint: string }) {
  const { params } = usePlace();
  return (
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
  );
}

/** Chooses one of several, or all: values, or values with what they are called. */
export function Choice({
  name,
  value,
  list,
  all = "all",
}: {
  name: string;
  value: string;
  list: (string | [value: string, text: string])[];
  /** What is chosen without a value. */
  all?: string;
}) {
  const options = list.map((o) => (typeof o === "string" ? ([o, o] as const) : o));
  const known = !value || options.some(([v]) => v === value);
  return (
    <label class="field">
      {name}
      <select value={value} onChange={(e) => setParams({ [name]: e.currentTarget.value })}>
        <option value="">{all}</option>
        {[...new Map(options)].map(([v, text]) => (
          <option key={v} value={v}>
            {text}
          </option>
        ))}
        {!known && <option value={value}>{value}</option>}
      </select>
    </label>
  );
}
