// Conventions of all operations.
import type { ComponentChildren } from "preact";
import { Code } from "../../ui/code";
import css from "../docs.module.css";

const LIMIT_ERROR = `{
  "detail": {
    "error": "The daily email check limit …",
    "limit": "email check",
    "resets_at": "2026-01-31T00:00:00Z"
  },
  "code": "used_up",
  "doc_url": "https://…/docs#code-used_up"
}`;

export function Basics({ children }: { children: ComponentChildren }) {
  return (
    <section class={css.tag} aria-labelledby="basics">
      <h2 id="basics">Basics</h2>
      <div class={css.endpoint}>
        <div class={css.text}>
          <p>
            Every path below starts with <code class="address">{API_URL || location.origin}</code>. Send and
            expect <code>application/json</code>.
          </p>
          <h3 id="authentication">Authentication</h3>
          <p>
            Send your API key in the <code>X-API-Key</code> header. It works for checks, domains, the sign-up
            guard, scans, events and your quota.
          </p>
          <p>
            Call the API from your server: browsers may call it from this site only (CORS), and a key in a
            page is everybody’s.
          </p>
          <p>
            Account endpoints need a session token instead, in <code>Authorization: Bearer …</code>. Sign in
            to get one. It ends after 12 hours, two hours without use, or when the password changes.
          </p>
          <h3 id="errors">Errors</h3>
          <p>
            Every error has a <code>detail</code> for people: a text, or an object with the text in{" "}
            <code>error</code>. Each also has a stable <a href="#error-codes">code</a> for programs, and a{" "}
            <code>doc_url</code> that leads to its row below.
          </p>
          <p>
            Every response has an <code>X-Request-Id</code>. Quote it when you report a problem.
          </p>
          <h3 id="limits">Limits</h3>
          <p>
            Daily checks reset at 00:00 UTC. Your welcome checks are used after your daily checks run out. A
            502 or the status <code>fatal_exception</code> is our fault and isn’t counted.
          </p>
          <p>
            <code>RateLimit</code> in a response says what’s left: <code>"daily";r=42;t=3600</code> is 42
            checks for the next hour. <code>RateLimit-Policy</code> says of how many.
          </p>
          <p>
            An account may send about 2,000 checks in ten seconds, and as many at a time as{" "}
            <a href="#showSite">its plan</a> allows. A body has at most 16 KiB, a list of up to 100 addresses
            48 KiB, and a scan’s part 256 KiB.
          </p>
          <p>
            Responses of 429 and 503 have a <code>Retry-After</code> header: the seconds to wait.
          </p>
          <h3 id="repeating">Repeating</h3>
          <p>
            Send a new <code>Idempotency-Key</code> with each check and each scan. If no response arrives,
            send the request again with the same key: it’s counted once. Keys are kept for 24 hours.
          </p>
        </div>
        <div class={css.code}>
          <Code caption="Response 429: no checks left" text={LIMIT_ERROR} />
        </div>
      </div>
      {children}
    </section>
  );
}
