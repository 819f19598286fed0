import type { Schemas } from "../../api/client";
import { Meter } from "../../ui/meter";
import { clockTimes, counted, duration, secondsUntil } from "../../words/times";

/** What every account got on confirmation, the full length of the bar; the API reports only what is left. */
const WELCOME_CHECKS = 50;

const number = new Intl.NumberFormat("en");

export function Allowances({ report }: { report: Schemas["QuotaReport"] }) {
  const { email_checks: checks, scans } = report;
  const empty = !report.unlimited && checks.left_today === 0 && checks.welcome_left === 0;
  return (
    <>
      <dl class="allowances">
        {report.unlimited ? (
          <Unlimited name="Checks" used={checks.used_today} />
        ) : (
          <Allowance
            name="Checks"
            used={checks.used_today}
            of={checks.daily_allowance}
            left={checks.left_today}
          />
        )}
        {!report.unlimited && (
          <div class="allowance">
            <dt>Welcome checks</dt>
            <dd>
              <Meter
                label="Welcome checks used"
                value={Math.max(0, WELCOME_CHECKS - checks.welcome_left)}
                max={Math.max(WELCOME_CHECKS, checks.welcome_left)}
                text={`${checks.welcome_left} left`}
              />
              <p class="figures">
                <strong>{number.format(checks.welcome_left)}</strong> left{" "}
                <span class="quiet">used once the daily checks are gone</span>
              </p>
            </dd>
          </div>
        )}
        {report.unlimited ? (
          <Unlimited name="Scans" used={scans.used_today} />
        ) : (
          <Allowance
            name="Scans"
            used={scans.used_today}
            of={scans.daily_allowance}
            left={scans.left_today}
            extra={scans.credits > 0 ? counted(scans.credits, "credit") : undefined}
          />
        )}
      </dl>
      <p class="reset">
        {empty && <strong>You have used all your checks. </strong>}
        <span class="plan">{report.plan} plan.</span> Everything but the welcome checks resets in{" "}
        {duration(secondsUntil(report.resets_at))}, at{" "}
        <time dateTime={report.resets_at}>{clockTimes(report.resets_at)}</time>.
      </p>
    </>
  );
}

interface AllowanceProps {
  name: string;
  used: number;
  of: number;
  left: number;
  extra?: string | undefined;
}

function Allowance({ name, used, of, left, extra }: AllowanceProps) {
  return (
    <div class="allowance">
      <dt>{name}</dt>
      <dd>
        <Meter label={`${name} used today`} value={used} max={of} text={`${used} of ${of}`} />
        <p class="figures">
          <strong>{number.format(used)}</strong> of {number.format(of)} used{" "}
          <span class="quiet">
            {number.format(left)} left{extra !== undefined && `, and ${extra}`}
          </span>
        </p>
      </dd>
    </div>
  );
}

function Unlimited({ name, used }: { name: string; used: number }) {
  return (
    <div class="allowance">
      <dt>{name}</dt>
      <dd>
        <p class="figures">
          <strong>{number.format(used)}</strong> today <span class="quiet">unlimited</span>
        </p>
      </dd>
    </div>
  );
}
