// The box where PromQL is written: CodeMirror with completion and checks of the language.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter, nextDiagnostic } from "@codemirror/lint";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { PromQLExtension } from "@prometheus-io/codemirror-promql";
import { useEffect, useRef } from "preact/hooks";
import { send } from "./api";

/** The language with names, labels and values of our API. Whoever makes it destroys it. */
export function language(): PromQLExtension {
  return new PromQLExtension().setComplete({
    remote: {
      fetchFn: (input, init) => send(String(input), init),
      // A name that cannot be completed now is written by hand: nothing to say about it.
      httpErrorHandler: () => undefined,
      cache: { maxAge: 60_000 },
    },
  });
}

/** What the API found wrong, and where: line and column from 1 on, if it said so. */
export interface Fault {
  message: string;
  line?: number;
  column?: number;
}

/** The fault that an error of the API names. */
export function faultOf(message: string): Fault {
  const found = /(\d+):(\d+): parse error: ([\s\S]*)$/.exec(message);
  if (!found) return { message };
  return { message: found[3]!, line: Number(found[1]), column: Number(found[2]) };
}

const setFault = StateEffect.define<Fault | null>();

/** The API's fault stands until the text changes. */
const faults = StateField.define<Fault | null>({
  create: () => null,
  update: (value, change) => {
    for (const e of change.effects) if (e.is(setFault)) return e.value;
    return change.docChanged ? null : value;
  },
});

function diagnose(view: EditorView): Diagnostic[] {
  const fault = view.state.field(faults);
  if (!fault?.line || fault.line > view.state.doc.lines) return [];
  const line = view.state.doc.line(fault.line);
  const from = Math.min(line.to, line.from + (fault.column ?? 1) - 1);
  const at = Math.max(0, Math.min(from, view.state.doc.length - 1));
  return [{ from: at, to: at + 1, severity: "error", message: fault.message, source: "API" }];
}

/** The page's colours, so that the box is light or dark with it. */
const theme = EditorView.theme({
  "&": {
    color: "var(--text)",
    backgroundColor: "var(--bg)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    fontSize: "14px",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": {
    fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
    lineHeight: "1.5",
    maxHeight: "240px",
    overflow: "auto",
  },
  ".cm-content": { padding: "6px 4px", caretColor: "var(--text)" },
  ".cm-placeholder": { color: "var(--dim)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--raised)",
    outline: "1px solid var(--dim)",
  },
  "&.cm-focused .cm-nonmatchingBracket": {
    backgroundColor: "var(--bad-back)",
    outline: "1px solid var(--bad)",
  },
  ".cm-tooltip": {
    color: "var(--text)",
    backgroundColor: "var(--panel)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    boxShadow: "0 8px 24px rgb(0 0 0 / 25%)",
  },
  ".cm-tooltip-autocomplete.cm-tooltip-below": { marginTop: "4px" },
  ".cm-tooltip.cm-completionInfo": { fontSize: "13px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    fontFamily: "inherit",
    fontSize: "13px",
    maxHeight: "16em",
    minWidth: "min(250px, 80vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px", lineHeight: "1.4" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "var(--on-accent)",
    backgroundColor: "var(--accent)",
  },
  ".cm-completionIcon": { opacity: "1", color: "inherit" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "1" },
  // Underlines of the library are images within the style, which the page's policy forbids.
  ".cm-lintRange": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--warn)",
    textUnderlineOffset: "3px",
  },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
  },
  ".cm-lintRange-warning, .cm-lintRange-info, .cm-lintRange-hint": { backgroundImage: "none" },
  ".cm-lintRange-active": { backgroundColor: "var(--bad-back)" },
  ".cm-lintPoint:after": { borderBottomColor: "var(--bad)" },
  ".cm-diagnostic": { padding: "4px 12px", fontSize: "13px" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--bad)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--warn)" },
  ".cm-diagnosticSource": { color: "var(--dim)", fontSize: "12px", opacity: "1" },
});

const highlight = HighlightStyle.define([
  { tag: tags.variableName, color: "var(--text)" },
  { tag: tags.function(tags.variableName), color: "var(--accent)" },
  { tag: [tags.modifier, tags.logicOperator], color: "var(--accent)" },
  { tag: tags.operatorKeyword, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.labelName, color: "var(--line-6)" },
  { tag: tags.string, color: "var(--ok)" },
  { tag: tags.number, color: "var(--warn)" },
  { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

/**
 * The editor. It stands in a shadow tree: there the library's styles are objects, which the page's
 * policy allows, where in the page they would be a style element, which it forbids.
 */
export function Editor({
  label,
  value,
  version,
  promql,
  fault,
  focus,
  change,
  run,
}: {
  label: string;
  value: string;
  /** Another one puts value into the box; else what is typed there stands. */
  version: number;
  promql: PromQLExtension;
  fault: Fault | null;
  focus?: boolean;
  change: (text: string) => void;
  run: () => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const calls = useRef({ change, run });
  calls.current = { change, run };

  useEffect(() => {
    const element = host.current!;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const go = () => {
      calls.current.run();
      return true;
    };
    const editor = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: value,
        extensions: [
          Prec.highest(
            keymap.of([
              { key: "Shift-Enter", run: go },
              { key: "Mod-Enter", run: go },
            ]),
          ),
          faults,
          promql.asExtension(),
          linter(diagnose, {
            delay: 300,
            needsRefresh: (u) => u.transactions.some((t) => t.effects.some((e) => e.is(setFault))),
          }),
          history(),
          closeBrackets(),
          bracketMatching(),
          autocompletion(),
          syntaxHighlighting(highlight),
          theme,
          placeholder("PromQL: Shift+Enter runs it, Ctrl+Space completes"),
          keymap.of([
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...historyKeymap,
            { key: "F8", run: nextDiagnostic },
            ...defaultKeymap,
          ]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
          EditorView.updateListener.of((u) => {
            if (u.docChanged) calls.current.change(u.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    if (focus) editor.focus();
    return () => {
      editor.destroy();
      view.current = null;
    };
  }, [promql, label]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [version]);

  useEffect(() => {
    view.current?.dispatch({ effects: setFault.of(fault) });
  }, [fault?.message, fault?.line, fault?.column]);

  // What is typed here is no key of the page: outside of the shadow tree it looks like one.
  return <div ref={host} class="editor" onKeyDown={(e) => e.stopPropagation()} />;
}
