// What it costs.
import { FREE, PRO } from "../../plans";
import { contactUrl } from "../../site";
import { LinkButton } from "../../ui/button";
import page from "../home.module.css";
import css from "./plans.module.css";

const number = new Intl.NumberFormat("en");

export function Plans() {
  const contact = contactUrl();
  return (
    <section class={page.section} aria-labelledby="plans">
      <div class={page.sectionHead}>
        <h2 id="plans">Start free, grow when you need to</h2>
        <p>Checks that fail on our side are never counted.</p>
      </div>
      <div class={css.plans}>
        <section class={css.planCard} aria-labelledby="plan-free">
          <h3 id="plan-free">{FREE.name}</h3>
          <p class={css.amount}>
            <strong>{number.format(FREE.checksPerDay)}</strong> checks a day
          </p>
          <ul>
            <li>{FREE.welcomeChecks} welcome checks on top, which don’t expire</li>
            <li>Every reason and detail included</li>
            <li>No card needed</li>
          </ul>
          <LinkButton href="/register" kind="primary">
            Get started
          </LinkButton>
        </section>
        <section class={css.planCard} aria-labelledby="plan-pro">
          <h3 id="plan-pro">{PRO.name}</h3>
          <p class={css.amount}>
            <strong>{number.format(PRO.checksPerDay)}</strong> checks a day
          </p>
          <ul>
            <li>Everything in {FREE.name}</li>
            <li>For sign-up forms and growing lists</li>
            <li>Price on request</li>
          </ul>
          {contact !== undefined && <LinkButton href={contact}>Contact us</LinkButton>}
        </section>
      </div>
    </section>
  );
}
