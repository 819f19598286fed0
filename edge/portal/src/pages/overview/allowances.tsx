// Today's remaining allowance, and advice when it is used up.
import type { Schemas } from "../../api/client";
import { FREE, PRO } from "../../plans";
import { Meter } from "../../ui/meter";
import { NeedMore } from "../../ui/need-more";
import { Notice } from "../../ui/notice";
import { clockTimes, duration, secondsUntil } from "../../words/times";
import css from "./allowances.module.css";

const number = new Intl.NumberFormat("en");

export function Allowances({ report }: { report: Schemas["QuotaReport"] }) {
  const { email_checks: checks } = report;
  const empty = !report.unlimited && checks.left_today === 0 && checks.welcome_left === 0;
  return (
    <>
      {empty && <UsedUp resetsAt={report.resets_at} plan={report.plan} />}
      <dl class={css.allowances}>
        {report.unlimited ? (
          <div class={css.allowance}>
            <dt>Checks</dt>
            <dd>
              <p class={css.figures}>
                <strong>{number.format(checks.used_today)}</strong> today <span class="quiet">unlimited</span>
              </p>
            </dd>
          </div>
        ) : (
          <>
            <Daily used={checks.used_today} of={checks.daily_allowance} left={checks.left_today} />
            <Welcome left={checks.welcome_left} />
          </>
        )}
      </dl>
      <p class={css.reset}>
        <span class={css.plan}>{report.plan} plan.</span> Daily checks reset in{" "}
        {duration(secondsUntil(report.resets_at))}, at{" "}
        <time dateTime={report.resets_at}>{clockTimes(report.resets_at)}</time>.
      </p>
    </>
  );
}

function UsedUp({ resetsAt, plan }: { resetsAt: string; plan: string }) {
  return (
    <Notice tone="unknown" title="You’ve used all your checks.">
      <p>Your allowance resets at {clockTimes(resetsAt)}.</p>
      {plan === "free" && (
        <p>
          The {PRO.name} plan has {number.format(PRO.checksPerDay)} checks a day.
        </p>
      )}
      <NeedMore />
    </Notice>
  );
}

function Daily({ used, of, left }: { used: number; of: number; left: number }) {
  return (
    <div class={css.allowance}>
      <dt>Checks</dt>
      <dd>
        <Meter label="Checks used today" value={used} max={of} text={`${used} of ${of}`} />
        <p class={css.figures}>
          <strong>{number.format(used)}</strong> of {number.format(of)} used{" "}
          <span class="quiet">{number.format(left)} left</span>
        </p>
      </dd>
    </div>
  );
}

/** The API reports only the remaining welcome checks; all accounts start with the same number. */
function Welcome({ left }: { left: number }) {
  const all = Math.max(FREE.welcomeChecks, left);
  return (
    <div class={css.allowance}>
      <dt>Welcome checks</dt>
      <dd>
        <Meter label="Welcome checks used" value={all - left} max={all} text={`${left} left`} />
        <p class={css.figures}>
          <strong>{number.format(left)}</strong> left{" "}
          <span class="quiet">used after your daily checks run out</span>
        </p>
      </dd>
    </div>
  );
}
