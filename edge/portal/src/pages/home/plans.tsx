// The plans and their prices.
import { FREE, PRO } from "../../plans";
import { contactUrl } from "../../site";
import { LinkButton } from "../../ui/button";
import page from "../home.module.css";
import css from "./plans.module.css";

const number = new Intl.NumberFormat("en");

function listsOf({ scansPerDay, scanSize }: typeof FREE): string {
  const scans = scansPerDay === 1 ? "One scan" : `${number.format(scansPerDay)} scans`;
  return `${scans} a day, with up to ${number.format(scanSize)} addresses each`;
}

export function Plans() {
  const contact = contactUrl();
  return (
    <section class={page.section} aria-labelledby="plans">
      <div class={page.sectionHead}>
        <h2 id="plans">Start free, grow when you need to</h2>
        <p>
          Every verdict counts as a check, also “unknown”. Only what fails on our side is free. Scans aren’t
          counted as checks.
        </p>
      </div>
      <div class={css.plans}>
        <section class={css.planCard} aria-labelledby="plan-free">
          <h3 id="plan-free">{FREE.name}</h3>
          <p class={css.amount}>
            <strong>{number.format(FREE.checksPerDay)}</strong> checks a day
          </p>
          <ul>
            <li>{FREE.welcomeChecks} welcome checks on top, which don’t expire</li>
            <li>{listsOf(FREE)}</li>
            <li>Every reason and detail, webhooks and downloads</li>
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
            <li>{listsOf(PRO)}</li>
            <li>Up to 100 checks at the same time</li>
            <li>{PRO_PRICE}</li>
          </ul>
          {contact !== undefined && <LinkButton href={contact}>Ask about {PRO.name}</LinkButton>}
        </section>
      </div>
    </section>
  );
}
