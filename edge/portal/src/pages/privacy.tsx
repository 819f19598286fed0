// What the service keeps, for how long, and what it doesn't keep.
import { contactUrl } from "../site";
import { Page } from "../ui/page";
import css from "./privacy.module.css";

export default function Privacy() {
  const contact = contactUrl();
  return (
    <Page title="Privacy" lead="What we keep, for how long, and what we don’t keep.">
      <div class={css.text}>
        <h2>The addresses you check</h2>
        <p>
          They are in no database and in no log. While a check runs, the address is in memory. Then we forget
          it.
        </p>
        <p>
          So that a repeated check is fast, results are cached for up to an hour under a one-way keyed hash.
          The hash can’t be turned back into an address.
        </p>
        <p>
          If a program sends an <code>Idempotency-Key</code>, we keep the result for 24 hours, without the
          address. It’s encrypted, and only that key opens it.
        </p>
        <p>
          To find out, we look up the address’s domain and ask its mail server. That server sees the address,
          as it would with any email. We never send a message.
        </p>
        <h2>Your account</h2>
        <p>
          We keep your email address, the name you enter, a hash of your password (argon2id) and your plan. If
          you turn on two-factor authentication, we also keep its secret, encrypted, and hashes of your
          recovery codes.
        </p>
        <p>
          We count how many checks you make each day, because plans have limits. We also keep the last day
          your API key was used. We don’t count or keep which addresses you checked.
        </p>
        <p>
          To stop password guessing, we count attempts per account and network, under keyed hashes. They are
          deleted after a quiet day.
        </p>
        <p>
          For each session we keep its time, the kind of browser and the country, so that you can recognize
          it. That goes when the session ends.
        </p>
        <h2>This site</h2>
        <p>
          It sets no cookies, has no trackers and loads nothing from others. Your session is in your browser’s
          storage until you sign out.
        </p>
        <h2>Emails we send</h2>
        <p>
          Links you ask for, and notices about your account’s security. No newsletters, and no tracking
          pixels.
        </p>
        <h2>Leaving</h2>
        <p>
          You can delete your account in the settings. That removes your address, name, password and
          everything above immediately. For up to 30 days we keep a keyed hash of the address with the checks
          it had used. Without that, signing up again would refill an allowance.
          {contact !== undefined && (
            <>
              {" "}
              Questions? <a href={contact}>Contact us</a>.
            </>
          )}
        </p>
      </div>
    </Page>
  );
}
