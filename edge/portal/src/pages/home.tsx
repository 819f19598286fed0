// The home page: the service, its advantages, its price, its privacy, and the first steps. The document
// contains the whole page, which can be read without JavaScript.
import { FREE } from "../plans";
import { useSession } from "../session";
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { Main, useTitle } from "../ui/page";
import css from "./home.module.css";
import { Comparison } from "./home/comparison";
import { Lists } from "./home/lists";
import { Plans } from "./home/plans";
import { QuickStart } from "./home/quick-start";
import { TryIt } from "./home/try-it";

export const TITLE = "Can this address receive mail?";

export default function Home() {
  const member = useSession() !== undefined;
  const heading = useTitle(TITLE);
  const start = member ? (
    <LinkButton href="/overview" kind="primary" large>
      Check an address
    </LinkButton>
  ) : (
    <LinkButton href="/register" kind="primary" large>
      Create a free account
    </LinkButton>
  );
  return (
    <Main layout="full">
      <div class={css.hero}>
        <div class={css.intro}>
          <h1 ref={heading} tabIndex={-1}>
            {TITLE}
          </h1>
          <p class={css.lead}>
            rcpt asks the address’s mail server as a real email would, and hangs up before sending anything.
            Check one address or a whole list, and get a clear answer: deliverable, undeliverable, risky, or
            the reason it can’t be known.
          </p>
          <Actions>
            {start}
            <LinkButton href="/docs" large>
              Read the API reference
            </LinkButton>
          </Actions>
          <p class="quiet">
            {FREE.checksPerDay} free checks every day, and {FREE.welcomeChecks} on us.
          </p>
        </div>
        <TryIt />
      </div>
      <Comparison />
      <Lists />
      <QuickStart />
      <section class={css.section} aria-labelledby="privacy">
        <div class={css.sectionHead}>
          <h2 id="privacy">Your lists stay yours</h2>
          <p>We hold an address until it has its verdict: seconds for a check, a day at most in a list.</p>
        </div>
        <ul class={css.facts}>
          <li>
            <h3>Never stored, never logged</h3>
            <p>The addresses you check are in no database and in no log. Lists wait in a queue, encrypted.</p>
          </li>
          <li>
            <h3>Cached as a hash</h3>
            <p>Results are cached for up to an hour under a one-way keyed hash.</p>
          </li>
          <li>
            <h3>No email is sent</h3>
            <p>We hang up before the message.</p>
          </li>
          <li>
            <h3>No trackers</h3>
            <p>
              No cookies, and nothing from others. <a href="/privacy">Read the details</a>.
            </p>
          </li>
        </ul>
      </section>
      <Plans />
      <section class={css.closing} aria-labelledby="start">
        <h2 id="start">Know before you send</h2>
        <Actions>{start}</Actions>
      </section>
    </Main>
  );
}
