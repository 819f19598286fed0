// Times and amounts as texts.

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Formats as `45 seconds`, `3 minutes` or `5 h 12 min`; rounded up, so that waiting this long is enough. */
export function duration(seconds: number): string {
  if (seconds < 90) return counted(Math.max(1, Math.ceil(seconds)), "second");
  const minutes = Math.ceil(seconds / MINUTE);
  if (seconds < HOUR) return counted(minutes, "minute");
  const rest = minutes % 60;
  return `${Math.floor(minutes / 60)} h${rest === 0 ? "" : ` ${rest} min`}`;
}

/** Returns hours and minutes in the reader's time zone, with the day unless it's today. */
export function clock(iso: string | Date): string {
  const time = new Date(iso);
  const text = new Intl.DateTimeFormat("en", CLOCK).format(time);
  if (time.toDateString() === new Date().toDateString()) return text;
  return `${text} on ${new Intl.DateTimeFormat("en", { day: "numeric", month: "long" }).format(time)}`;
}

const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;

/** Returns a time in the reader's time zone and in UTC: `02:00 your time (00:00 UTC)`. */
export function clockTimes(iso: string): string {
  const time = new Date(iso);
  const local = new Intl.DateTimeFormat("en", CLOCK).format(time);
  const utc = new Intl.DateTimeFormat("en", { ...CLOCK, timeZone: "UTC" }).format(time);
  return `${local} your time (${utc} UTC)`;
}

export function secondsUntil(iso: string): number {
  return Math.max(0, (new Date(iso).getTime() - Date.now()) / 1000);
}

export function day(iso: string): string {
  return new Intl.DateTimeFormat("en", { dateStyle: "long" }).format(new Date(iso));
}

/** Formats a date of the API, which is in UTC. */
export function utcDay(date: string): string {
  return new Intl.DateTimeFormat("en", { dateStyle: "long", timeZone: "UTC" }).format(new Date(date));
}

/** Returns day and time in the reader's time zone. */
export function moment(iso: string): string {
  const date = { day: "numeric", month: "short", year: "numeric" } as const;
  return new Intl.DateTimeFormat("en", { ...date, ...CLOCK }).format(new Date(iso));
}

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
