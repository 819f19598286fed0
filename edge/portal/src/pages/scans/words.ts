// Texts about scans.

export const STATES: Record<string, { name: string; tone: string; text: string }> = {
  open: { name: "Waiting for addresses", tone: "unknown", text: "Part of the list hasn’t been sent." },
  running: {
    name: "Running",
    tone: "busy",
    text: "You can close this tab. The scan continues. Keep a copy of the file: we don’t have your addresses.",
  },
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
