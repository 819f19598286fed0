// Scans in words.

export const STATES: Record<string, { name: string; text: string }> = {
  open: { name: "Waiting for addresses", text: "Not all of the list has been sent." },
  running: { name: "Running", text: "You can close this tab. The scan continues." },
  completed: { name: "Completed", text: "Every address has been asked about." },
  cancelled: { name: "Stopped", text: "The scan was stopped. What was answered before is here." },
  expired: { name: "Expired", text: "Nothing was answered within a day. This scan wasn’t counted." },
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
