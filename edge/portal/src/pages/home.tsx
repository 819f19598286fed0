import { useSession } from "../session";
import { Page } from "../ui/page";

const REQUEST = `curl ${API_URL || location.origin}/v1/validate_email \\
  -H 'X-API-Key: rcpt_live_…' \\
  -H 'Content-Type: application/json' \\
  -d '{"email": "ann@example.com"}'`;

const ANSWER = `{
  "email": "ann@example.com",
  "status": true,
  "cached": false
}`;

export default function Home() {
  const member = useSession() !== undefined;
  return (
    <Page
      layout="home"
      title="Can this address receive mail?"
      lead="rcpt asks the mail server of the address, the way a mail on its way would, and stops before it sends anything. You get what the server said: yes, no, or why nobody can tell."
    >
      <p class="actions">
        {member ? (
          <a class="button primary" href="/overview">
            Check an address
          </a>
        ) : (
          <a class="button primary" href="/register">
            Create a free account
          </a>
        )}
        <a class="button plain" href="/docs">
          Read the API reference
        </a>
      </p>
      <section class="sample" aria-labelledby="sample">
        <h2 id="sample">One request, one answer</h2>
        <div class="sample-panes">
          <figure class="code">
            <figcaption>Request</figcaption>
            <pre tabIndex={0}>
              <code>{REQUEST}</code>
            </pre>
          </figure>
          <figure class="code">
            <figcaption>Answer</figcaption>
            <pre tabIndex={0}>
              <code>{ANSWER}</code>
            </pre>
          </figure>
        </div>
      </section>
      <section class="facts" aria-label="What to expect">
        <div>
          <h2>A verdict you can act on</h2>
          <p>
            “No” means that the server spoke about the recipient. When it only refused to talk to us, we say
            so, and never call the address invalid.
          </p>
        </div>
        <div>
          <h2>Nothing is kept</h2>
          <p>
            The addresses you check are not stored. Recent verdicts are remembered for up to an hour, under a
            keyed hash.
          </p>
        </div>
        <div>
          <h2>Free to start</h2>
          <p>
            New accounts get 100 checks a day, and 50 more to begin with. Checks that fail on our side do not
            count.
          </p>
        </div>
      </section>
    </Page>
  );
}
