// Texts about scans.

export const STATES: Record<string, { name: string; tone: string; text: string }> = {
  open: {
    name: "Not all sent",
    tone: "unknown",
    text: "Part of the list hasn’t been sent. Choose the same file below, and the rest is sent.",
  },
  running: {
    name: "Running",
    tone: "busy",
    text: "You can close this tab: the scan continues. Keep a copy of the file, because we don’t keep your addresses.",
  },
  completed: { name: "Completed", tone: "good", text: "" },
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
