// The features of the portal and the API for whole lists.
import { FREE } from "../../plans";
import page from "../home.module.css";

export function Lists() {
  return (
    <section class={page.section} aria-labelledby="lists">
      <div class={page.sectionHead}>
        <h2 id="lists">Clean a whole list</h2>
        <p>
          Drop a CSV or Excel file, or paste recipients. It’s read in your browser, and comes back with a
          verdict in each row.
        </p>
      </div>
      <ul class={page.facts}>
        <li>
          <h3>Four clear verdicts</h3>
          <p>Deliverable, undeliverable, risky or unknown. Download all of them, or one kind.</p>
        </li>
        <li>
          <h3>Asked again</h3>
          <p>Servers that put us off are asked up to three more times.</p>
        </li>
        <li>
          <h3>Webhooks</h3>
          <p>
            Your server learns when a scan ends. <a href="/webhooks">See the event</a>.
          </p>
        </li>
        <li>
          <h3>Free to try</h3>
          <p>A list of up to {FREE.scanSize} addresses every day.</p>
        </li>
      </ul>
    </section>
  );
}
