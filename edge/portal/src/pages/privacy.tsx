// The stored data with its retention times, and data that is never stored.
import { contactUrl } from "../site";
import { Page } from "../ui/page";
import { STORED_DATA } from "./privacy/data";
import css from "./privacy.module.css";

export default function Privacy() {
  return (
    <Page title="Privacy" lead="What we keep, for how long, and what we don’t keep.">
      <div class={css.text}>
        <Addresses />
        <h2 id="kept">What we keep</h2>
        <p>Everything that we store is in this list.</p>
        <dl class={css.kept}>
          {STORED_DATA.map(({ what, how, until }) => (
            <div>
              <dt>{what}</dt>
              <dd>{how}</dd>
              <dd class="quiet">Kept until {until}.</dd>
            </div>
          ))}
        </dl>
        <p>
          For emergencies, our databases can be restored to any minute of the last 30 days. What you delete
          can be in such a copy until then.
        </p>
        <Others />
      </div>
    </Page>
  );
}

function Addresses() {
  return (
    <>
      <h2>The addresses you check</h2>
      <p>
        They are in no database and in no log. While a single check runs, its address is in memory. Then we
        forget it.
      </p>
      <p>
        The addresses of a scan wait in a queue until they have their verdict, for a day at most. There, they
        are encrypted. Results are kept by row number, so only you can tell which address each belongs to.
      </p>
      <p>
        To find out, we look up the address’s domain and ask its mail server. That server sees the address, as
        it would with any email. We never send a message.
      </p>
    </>
  );
}

function Others() {
  const contact = contactUrl();
  return (
    <>
      <h2>Who else handles data</h2>
      <p>
        rcpt runs on Cloudflare’s network: its databases, queue, cache and outgoing emails are there. One of
        our servers, rented from a hosting provider, talks to mail servers.
      </p>
      <p>
        When you sign up, a public DNS service learns the domain of your email address, such as example.org.
      </p>
      {TURNSTILE_SITE_KEY !== "" && (
        <p>
          The forms for signing up and for a forgotten password load Cloudflare Turnstile, which tells people
          from programs. Cloudflare sees your browser and its network address then, and not what you type.
        </p>
      )}
      <p>We sell nothing to anyone, and share nothing beyond that.</p>
      <h2>This site</h2>
      <p>
        It sets no cookies, has no trackers and loads nothing{TURNSTILE_SITE_KEY === "" ? "" : " else"} from
        others. Your session is stored in its tab, unless you stay signed in. Your API key isn’t stored in the
        browser.
      </p>
      <p>
        For each scan, your browser keeps 8 bytes of a hash for each address, so that it can put the verdicts
        beside your addresses again. They stay in that browser until you sign out, for nine days at most.
      </p>
      <h2>Emails we send</h2>
      <p>
        Links you ask for, notices about your account, and a note when a scan has ended or your daily checks
        run out. You can turn these notes off in the settings. No newsletters, and no tracking pixels.
      </p>
      <h2>Leaving</h2>
      <p>
        You can delete your account in the settings. That closes it and removes your address and name
        immediately. Everything else listed above follows within the hour, except what the list says we keep
        for longer.
      </p>
      {contact !== undefined && (
        <>
          <h2>Questions</h2>
          <p>
            <a href={contact}>Contact us</a> about your data, or for a data processing agreement.
          </p>
        </>
      )}
    </>
  );
}
