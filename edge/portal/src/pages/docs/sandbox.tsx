// Sandbox addresses: one for each verdict and reason, for tests of programs.
import ADDRESSES from "../../../../data/sandbox.json";
import { Page } from "../../ui/page";
import { explainReason } from "../../words/verdicts";
import css from "../docs.module.css";
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
          <li>Write the part before the @ as it is here, in small letters.</li>
        </ul>
      </section>
      <section class={css.tag} aria-labelledby="addresses">
        <h2 id="addresses">Addresses</h2>
        <table class={table.table}>
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">Status</th>
              <th scope="col">Reason</th>
            </tr>
          </thead>
          <tbody>
            {ADDRESSES.map(({ address, status, reason, does, http }) => (
              <tr>
                <th scope="row">
                  <code class="address">{address}</code>
                </th>
                <td>
                  <code class="address">{http === null ? JSON.stringify(status) : `HTTP ${http}`}</code>
                </td>
                <td>
                  {http === null && `${explainReason(reason)} `}
                  <span class="quiet">{does}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Page>
  );
}
