const LIMIT_ERROR = `{
  "detail": {
    "error": "The daily email check limit …",
    "limit": "email check",
    "resets_at": "2026-01-31T00:00:00Z"
  }
}`;

/** What holds for every operation, which no single one of them says. */
export function Basics() {
  return (
    <section class="tag" aria-labelledby="basics">
      <h2 id="basics">Basics</h2>
      <div class="endpoint">
        <div class="endpoint-text">
          <p>
            Every path below is served under <code class="address">{API_URL || location.origin}</code>. Send
            and expect <code>application/json</code>.
          </p>
          <h3 id="authentication">Authentication</h3>
          <p>
            Send your API key in the header <code>X-API-Key</code>. It works for checks and for the quota
            report.
          </p>
          <p>
            What changes the account takes a session token instead, in <code>Authorization: Bearer …</code>.
            Signing in gives one. It ends after some hours, and when the password changes.
          </p>
          <h3 id="errors">Errors</h3>
          <p>
            Every error has a <code>detail</code>. For people it is a text, or an object with the text in{" "}
            <code>error</code>; the errors of account operations also have a stable <code>code</code> for
            programs. Every answer has an <code>X-Request-Id</code> to quote when something is wrong on our
            side.
          </p>
          <h3 id="limits">Limits</h3>
          <p>
            Daily allowances start anew at 00:00 UTC. Checks take from the daily allowance first, then from
            the welcome checks. What fails on our side, a 502 or the status <code>fatal_exception</code>, does
            not count. Answers of 429 and 503 say in <code>Retry-After</code> how many seconds to wait.
          </p>
        </div>
        <div class="endpoint-code">
          <figure class="code">
            <figcaption>Answer 429, the allowance is used up</figcaption>
            <pre tabIndex={0}>
              <code>{LIMIT_ERROR}</code>
            </pre>
          </figure>
        </div>
      </div>
    </section>
  );
}
