// Sandbox addresses and domains: one for each verdict, reason and kind, for tests of programs.
import { addresses, domains } from "../../../../data/sandbox.json";
import { Page } from "../../ui/page";
import { explainReason } from "../../words/verdicts";
import css from "../docs.module.css";
import { Inline } from "./inline";
import table from "./tables.module.css";

export function Sandbox() {
  return (
    <Page
      title="Sandbox addresses"
      lead="They always give the same verdict, like a payment provider’s test cards. No mail server is asked."
    >
      <section class={css.tag} aria-labelledby="rules">
        <h2 id="rules">How they work</h2>
        <ul class={css.steps}>
          <li>
            They work everywhere, with your API key, in single checks and in scans. They count like others.
          </li>
          <li>
            Add a tag for a fresh result: <code>accepts+anything@sandbox.test</code> has the verdict of{" "}
            <code>accepts@sandbox.test</code>.
          </li>
          <li>
            The name of a <a href="/docs#reasons">reason</a> that depends on neither domain nor form is an
            address, too: <code>mailbox_full@sandbox.test</code>.
          </li>
          <li>A scan checks greylisted sandbox addresses again after seconds, not minutes.</li>
          <li>Write the part before the @ as it is here, in small letters.</li>
        </ul>
      </section>
      <section class={css.tag} aria-labelledby="addresses">
        <h2 id="addresses">Addresses</h2>
        <table class={`${table.table} ${table.stacked}`}>
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">Status</th>
              <th scope="col">Reason, and what the mail server says or does</th>
            </tr>
          </thead>
          <tbody>
            {addresses.map(({ address, status, reason, does, http }) => (
              <tr>
                <th scope="row">
                  <code class="address">{address}</code>
                </th>
                <td>
                  <code>{http === null ? JSON.stringify(status) : `HTTP ${http}`}</code>
                </td>
                <td>
                  {http === null && (
                    <>
                      <code>{reason}</code>: {explainReason(reason)}{" "}
                    </>
                  )}
                  <span class="quiet">
                    <Inline text={http === null ? `(${does})` : does} />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section class={css.tag} aria-labelledby="domains">
        <h2 id="domains">Domains</h2>
        <p>
          Sandbox addresses work below those that accept mail, such as <code>accepts@relay.sandbox.test</code>
          . The kind is in <code>details.domain</code>, and <a href="/docs#checkDomain">domain checks</a>{" "}
          return it.
        </p>
        <table class={`${table.table} ${table.stacked}`}>
          <thead>
            <tr>
              <th scope="col">Domain</th>
              <th scope="col">Kind</th>
              <th scope="col">What it stands for</th>
            </tr>
          </thead>
          <tbody>
            {domains.map(({ domain, kind, does }) => (
              <tr>
                <th scope="row">
                  <code class="address">{domain}</code>
                </th>
                <td>
                  <code>{JSON.stringify(kind)}</code>
                </td>
                <td>
                  <Inline text={does} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Page>
  );
}
