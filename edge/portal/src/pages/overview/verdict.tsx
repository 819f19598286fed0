import type { Details, ValidationResult } from "../../api/details";
import { duration } from "../../words/times";
import { explain, explainReason } from "../../words/verdicts";

const MARKS = { good: "✓", bad: "✕", unknown: "?" };

interface VerdictProps {
  result: ValidationResult;
  /** As it was typed. */
  asked: string;
  /** Whether the reason was asked for. */
  reasoned: boolean;
}

export function Verdict({ result, asked, reasoned }: VerdictProps) {
  const { tone, title, text } = explain(result);
  const { details } = result;
  return (
    <div class={`verdict ${tone}`} data-status={String(result.status)}>
      <span class="mark" aria-hidden="true">
        {MARKS[tone]}
      </span>
      <div>
        <p class="verdict-address address">
          {result.email}
          {result.email !== asked && <span class="quiet"> (from “{asked}”)</span>}
        </p>
        <h3>{title}</h3>
        <p>{text}</p>
        {details !== undefined && <Why details={details} />}
        {details === undefined && reasoned && result.status !== "invalid_format" && (
          <p>The service gave no further reason.</p>
        )}
        <p class="verdict-facts quiet">
          <code>status: {JSON.stringify(result.status)}</code>
          {result.cached === true && <span>From a check a short time ago; it counts all the same.</span>}
        </p>
      </div>
    </div>
  );
}

function Why({ details }: { details: Details }) {
  const facts: [string, string | null | undefined][] = [
    ["Mail server", details.mx_host],
    [
      "Its reply",
      [details.smtp_code, details.enhanced_code].filter((part) => part != null).join(" ") || undefined,
    ],
    ["Decided at", details.stage.replaceAll("_", " ")],
    ["Worth asking again", details.retry_after == null ? undefined : `in ${duration(details.retry_after)}`],
    ["Did you mean", details.suggestion],
  ];
  return (
    <div class="why">
      <p>{explainReason(details.reason)}</p>
      <dl class="why-facts">
        {facts.map(
          ([name, value]) =>
            value != null && (
              <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
    </div>
  );
}
