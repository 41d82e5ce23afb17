// What receivers of alerts were told.
import { get, type Labels } from "./api";

/** What a receiver was told, and what became of it. */
export interface Message {
  at: string; // when it was taken, or given up
  receiver: string;
  integration: string; // by what: email, slack, …
  status: "firing" | "resolved"; // resolved: all of it ended
  group: Labels;
  alerts: { status: "firing" | "resolved"; labels: Labels }[]; // the first of them
  more?: number; // alerts beyond these
  tries: number;
  error?: string; // why it was given up; empty: the receiver took it
}

/** The newest messages to receivers since a time, in seconds, and whether there are older ones. */
export const messages = (from: number, signal?: AbortSignal) =>
  get<{ messages: Message[]; more: boolean }>(
    "/alertmanager/ringwatch/messages",
    { from: String(from), limit: "10000" },
    signal,
  );
