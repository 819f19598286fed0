// A verdict with the reason and the evidence behind it.
import { clsx } from "clsx";
import type { Details, ValidationResult } from "../api/details";
import { Button } from "./button";
import { kindOf } from "../words/domain-kinds";
import { duration } from "../words/times";
import { explain, explainReason, replyOf } from "../words/verdicts";
import { Mark } from "./mark";
import css from "./verdict.module.css";

interface VerdictProps {
  result: ValidationResult;
  /** The typed address, if the checked address may differ. */
  sent?: string;
  /** Called with the suggested address if the reader accepts it. */
  onSuggestion?: (address: string) => void;
}

export function Verdict({ result, sent, onSuggestion }: VerdictProps) {
  const { tone, title, text } = explain(result);
  const { details } = result;
  const suggestion = details?.suggestion;
  return (
    <div class={clsx(css.verdict, css[tone])} data-tone={tone} data-status={String(result.status)}>
      <Mark tone={tone} />
      <div class={css.content}>
        <p class={css.address}>
          {result.email}
          {sent !== undefined && result.email !== sent && <span class="quiet"> (from “{sent}”)</span>}
        </p>
        <h3>{title}</h3>
        <p>
          {text}
          {details !== undefined && ` ${explainReason(details.reason)}`}
        </p>
        {suggestion != null && onSuggestion !== undefined && (
          <p>
            Did you mean{" "}
            <Button kind="link" onClick={() => onSuggestion(suggestion)}>
              {suggestion}
            </Button>
            ?
          </p>
        )}
        {details !== undefined && <Evidence details={details} />}
        <p class={css.facts}>
          <code>status: {JSON.stringify(result.status)}</code>
          {result.cached === true && <span>Cached result from the last hour. Counts as one check.</span>}
        </p>
      </div>
    </div>
  );
}

/** Returns the address's traits as a text. */
function traitsOf(details: Details): string | undefined {
  const traits = [
    details.role_account === true && "role account, such as info@",
    details.domain != null && kindOf(details.domain),
    details.catch_all === "yes" && "catch-all domain",
  ].filter((trait) => typeof trait === "string");
  return traits.length === 0 ? undefined : traits.join(", ");
}

function Evidence({ details }: { details: Details }) {
  const { mx_host, retry_after, operator } = details;
  const facts: [string, string | null | undefined][] = [
    ["Mail server", mx_host],
    ["Run by", operator?.replaceAll("_", " ")],
    ["Server’s reply", replyOf(details)],
    ["About it", traitsOf(details)],
    ["Confidence", details.confidence === "none" ? undefined : details.confidence],
    ["Try again", retry_after == null ? undefined : `in ${duration(retry_after)}`],
  ];
  return (
    <dl class={css.evidence}>
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
  );
}
