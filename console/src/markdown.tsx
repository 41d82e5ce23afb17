// Markdown of runbooks as nodes: headings, paragraphs, lists, code, bold, links. What it does not
// know stays text, and nothing becomes markup.
import type { ComponentChildren } from "preact";

/** A part of a text: a heading, a paragraph, a list, or code. */
interface Block {
  kind: "heading" | "text" | "list" | "code";
  lines: string[]; // of a list an item each
}

/** Divides a text into its parts. */
export function blocksOf(text: string): Block[] {
  const list: Block[] = [];
  let now: Block | null = null;
  let fence = false;
  const open = (kind: Block["kind"], line: string) => {
    now = { kind, lines: [line] };
    list.push(now);
  };
  for (const line of text.split("\n")) {
    const last = now as Block | null;
    if (line.startsWith("```")) {
      fence = !fence;
      if (fence) {
        now = { kind: "code", lines: [] };
        list.push(now);
      } else now = null;
    } else if (fence) last?.lines.push(line);
    else if (!line.trim()) now = last?.kind === "code" || last?.kind === "list" ? last : null;
    else if (/^#{1,6} /.test(line)) {
      open("heading", line.replace(/^#+ /, ""));
      now = null;
    } else if (/^- /.test(line)) {
      if (last?.kind === "list") last.lines.push(line.slice(2));
      else open("list", line.slice(2));
    } else if (last?.kind === "list" && line.startsWith("  ")) {
      last.lines[last.lines.length - 1] += ` ${line.trim()}`;
    } else if (line.startsWith("    ")) {
      if (last?.kind === "code") last.lines.push(line.slice(4));
      else open("code", line.slice(4));
    } else if (last?.kind === "text") last.lines.push(line);
    else open("text", line);
  }
  return list;
}

/** What becomes of code. */
type Fill = (code: string) => string;

/** A text in which code, bold and links are nodes. */
function inline(text: string, fill: Fill): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const m of text.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g)) {
    parts.push(text.slice(end, m.index));
    end = m.index + m[0].length;
    if (m[1]) parts.push(<code>{fill(m[1])}</code>);
    else if (m[2]) parts.push(<strong>{inline(m[2], fill)}</strong>);
    else parts.push(<Link href={m[4]!}>{m[3]!}</Link>);
  }
  parts.push(text.slice(end));
  return parts;
}

/** A link out of the console; what is no address of the web is only text. */
export function Link({ href, children }: { href: string; children: ComponentChildren }) {
  if (!/^https?:\/\//i.test(href) || !URL.canParse(href)) return <span>{children}</span>;
  return (
    <a href={href} rel="noreferrer" target="_blank">
      {children}
    </a>
  );
}

/** Shows Markdown; fill says what becomes of code. */
export function Markdown({ text, fill = (code) => code }: { text: string; fill?: Fill }) {
  return (
    <div class="markdown">
      {blocksOf(text).map((b, i) => {
        if (b.kind === "heading") return <h3 key={i}>{inline(b.lines[0]!, fill)}</h3>;
        if (b.kind === "text") return <p key={i}>{inline(b.lines.join(" "), fill)}</p>;
        if (b.kind === "code") return <pre key={i}>{fill(b.lines.join("\n"))}</pre>;
        return (
          <ul key={i}>
            {b.lines.map((item, j) => (
              <li key={j}>{inline(item, fill)}</li>
            ))}
          </ul>
        );
      })}
    </div>
  );
}
