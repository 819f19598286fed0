// Texts about scans.
import type { Unreadable } from "./list/read";

export const STATES: Record<string, { name: string; tone: string; text: string }> = {
  open: { name: "Waiting for addresses", tone: "unknown", text: "Part of the list hasn’t been sent." },
  running: { name: "Running", tone: "busy", text: "You can close this tab. The scan continues." },
  completed: { name: "Completed", tone: "good", text: "Every address has its verdict." },
  cancelled: {
    name: "Stopped",
    tone: "plain",
    text: "The scan was stopped. What was known by then is here.",
  },
  expired: {
    name: "Expired",
    tone: "unknown",
    text: "We couldn’t find out anything in time. This scan wasn’t counted.",
  },
};

export const UNREADABLE: Record<Unreadable, string> = {
  empty: "This has no text in it. Choose a file with one address per row.",
  spreadsheet: "This is a spreadsheet that we can’t read here. Save it as CSV, then choose that file.",
  "too-large": "This spreadsheet is too large to read here. Save it as CSV, then choose that file.",
};
