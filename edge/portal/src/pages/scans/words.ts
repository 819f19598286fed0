// Scans in words.

export const STATES: Record<string, { name: string; tone: string; text: string }> = {
  open: { name: "Waiting for addresses", tone: "unknown", text: "Not all of the list has been sent." },
  running: { name: "Running", tone: "busy", text: "You can close this tab. The scan continues." },
  completed: { name: "Completed", tone: "good", text: "Every address has been asked about." },
  cancelled: {
    name: "Stopped",
    tone: "plain",
    text: "The scan was stopped. What was answered before is here.",
  },
  expired: {
    name: "Expired",
    tone: "unknown",
    text: "Nothing was answered within a day. This scan wasn’t counted.",
  },
};

/** What each status is called in charts and filters, with its tone. */
export const STATUSES: readonly (readonly [status: string, name: string, tone: string])[] = [
  ["true", "Accepted", "good"],
  ["false", "Refused", "bad"],
  ["invalid_format", "Not an address", "bad"],
  ["domain_not_found", "No such domain", "bad"],
  ["no_mx_records", "Domain accepts no mail", "bad"],
  ["smtp_connect_error", "Server unreachable", "unknown"],
  ["smtp_timeout", "Server too slow", "unknown"],
  ["blocked_by_provider", "Server declined to answer", "unknown"],
  ["fatal_exception", "Failed on our side", "unknown"],
];

export const nameOf = (status: unknown) =>
  STATUSES.find(([name]) => name === String(status))?.[1] ?? String(status);
