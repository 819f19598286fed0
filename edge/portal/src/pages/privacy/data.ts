// Stored data, for the privacy page. Each entry belongs to a row of "Where data lives" in docs/architecture.md;
// a test compares the two.
interface StoredData {
  /** The row in docs/architecture.md. */
  row: string;
  what: string;
  how: string;
  until: string;
}

export const STORED_DATA: readonly StoredData[] = [
  {
    row: "accounts, their plans and the plans' end dates",
    what: "Your account",
    how: "Your email address, your name, your plan and when it ends. Your password is stored only as an argon2id hash.",
    until: "you delete the account",
  },
  {
    row: "the directory",
    what: "Where your account is stored",
    how: "Your email address once more, in our first database: it leads to the database of your account.",
    until: "you delete the account",
  },
  {
    row: "registrations",
    what: "A sign-up that isn’t confirmed",
    how: "The email address that somebody typed, with the hash of their password and of the link we sent.",
    until: "it’s confirmed, or a day has passed",
  },
  {
    row: "addresses that an operator allowed",
    what: "Exceptions for an address",
    how: "An address that may sign up although another spelling of it has an account.",
    until: "it has signed up, or 30 days have passed",
  },
  {
    row: "the ledger",
    what: "How much you’ve used",
    how: "How many checks and scans you’ve made, because plans have limits. Not which addresses.",
    until: "you delete the account",
  },
  {
    row: "API keys",
    what: "Your API keys",
    how: "Each key’s name, rights, limit, end and version, and the last day it was used. Not the keys themselves.",
    until: "you end the key or delete the account",
  },
  {
    row: "passkeys",
    what: "Your passkeys",
    how: "Each passkey’s name, its public key and number, and when it was made and last used. What your device checks, such as a fingerprint, never reaches us.",
    until: "you remove the passkey or delete the account",
  },
  {
    row: "answered passkey challenges",
    what: "Used sign-in challenges",
    how: "The hash of a random number, so that a sign-in can’t be repeated. It names nobody.",
    until: "ten minutes after the sign-in",
  },
  {
    row: "actions of operators and their programs",
    what: "What we did to your account",
    how: "For example, a plan that was set or an account that was deactivated: when, by whom and why. No address.",
    until: "the service ends, because it shows who did what",
  },
  {
    row: "checks by day, for the chart of their owner",
    what: "Your checks by day",
    how: "A number for each day, for your chart.",
    until: "about a month has passed",
  },
  {
    row: "answers under an `Idempotency-Key`",
    what: "Repeatable results",
    how: "Only if your program sends an Idempotency-Key: the result without the address, encrypted so that only that key opens it.",
    until: "24 hours have passed",
  },
  {
    row: "sign-up guard",
    what: "Your sign-up guard",
    how: "What your sign-up forms refuse, the domains you allow or block, and how many sign-ups were refused on each day and why. Not which addresses.",
    until: "you delete the account; the numbers of a day go after 30 days",
  },
  {
    row: "mailed links, recovery codes",
    what: "Emailed links and recovery codes",
    how: "Hashes of them.",
    until: "they’re used or expire",
  },
  {
    row: "requested reset links",
    what: "Requests for a reset link",
    how: "The email address that was typed, whether or not it has an account.",
    until: "the email has been sent, an hour at most",
  },
  {
    row: "authenticator secrets",
    what: "Two-factor authentication",
    how: "The secret of your authenticator app, encrypted.",
    until: "you turn it off",
  },
  {
    row: "scans",
    what: "Scans",
    how: "The name you give a scan, its counts, and each verdict with its reason and row number. Addresses wait encrypted in a queue, and are in no database.",
    until:
      "seven days after the scan, or until you delete it. An address leaves the queue with its verdict, after a day at most",
  },
  {
    row: "webhooks",
    what: "Your webhook",
    how: "Its URL, what the last deliveries said, and whether they worked: counts of a scan, or how many daily checks were used.",
    until: "you remove it. Deliveries: a week",
  },
  {
    row: "notices to owners",
    what: "Notices on their way to you",
    how: "The kind of notice, such as that your daily checks run out, with the time, kind of browser and country of what happened.",
    until: "they’ve been emailed",
  },
  {
    row: "Turnstile tokens, if it is set up",
    what: "The answer of Cloudflare Turnstile",
    how: "Only where sign-up uses Turnstile. It isn’t stored: we pass it to Cloudflare, without your address.",
    until: "Cloudflare has checked it",
  },
  {
    row: "open changes",
    what: "Recent changes of your account",
    how: "What was changed and when, so that a reset of your password can take it back. A second factor that was turned off stays for that, sealed.",
    until: "a month has passed; the second factor: three days",
  },
  {
    row: "recoveries by an operator",
    what: "The recovery of your account",
    how: "If you’ve lost your phone and recovery codes and asked us: since when, until we let you in again.",
    until: "it takes effect or is stopped",
  },
  {
    row: "sessions",
    what: "Where you’re signed in",
    how: "For each session its times, the kind of browser and the country, so that you can recognize it.",
    until: "the session ends",
  },
  {
    row: "changes of an account's address",
    what: "A change of your email address",
    how: "Both addresses and the hash of the link, until the change is done.",
    until: "a day after the change",
  },
  {
    row: "security events",
    what: "Your security events",
    how: "What was done to your account or tried, with the day, the kind of browser and the country of the last time.",
    until: "90 days have passed",
  },
  {
    row: "the portal in its reader's browser",
    what: "In your own browser",
    how: "The session, in its tab; if you stay signed in on this device, for twelve hours outside it. For each scan the name of its file and, for each address, 8 bytes of a hash. Your API key isn’t stored.",
    until: "you sign out, or nine days have passed",
  },
  {
    row: "throttled attempts",
    what: "Failed attempts",
    how: "Counts per account and network under keyed hashes, against password guessing.",
    until: "a quiet day has passed",
  },
  {
    row: "opt-outs from emails",
    what: "Your wish for no emails",
    how: "A keyed hash of your email address, once you’ve asked us not to email you when others type it.",
    until: "30 days have passed",
  },
  {
    row: "marks of deleted and moved accounts",
    what: "After you delete your account",
    how: "A keyed hash of its mailbox. Otherwise, signing up again would refill an allowance. The account’s number stays for a day.",
    until: "30 days have passed",
  },
  {
    row: "log lines about accounts",
    what: "Logs of sign-ins and settings",
    how: "The time, your account’s number, what was tried and how it ended; before you’re signed in, also a keyed hash of your network. So an attack on your account can be found. Checks are logged without an account.",
    until: "our logs expire",
  },
  {
    row: "recent verdicts",
    what: "Recent results of single checks",
    how: "The result under a one-way keyed hash of the address, so that a repeated check is fast. All customers share it: a cached result tells that somebody checked that address, not who.",
    until: "an hour has passed",
  },
  {
    row: "share of existing recipients in each account's last answers",
    what: "How many of the addresses you check exist",
    how: "Two numbers under a keyed hash of your account, in memory only: so an account that guesses addresses gets nobody else blocked.",
    until: "a day without a check has passed",
  },
  {
    row: "knowledge about mail hosts, DNS answers, idle sessions",
    what: "Mail servers",
    how: "How a domain’s mail servers behaved, in memory only.",
    until: "it’s out of date",
  },
];
