// A verdict with the reason and the evidence behind it.
import { clsx } from "clsx";
import type { Details, ValidationResult } from "../../api/details";
import { Button } from "../../ui/button";
import { duration } from "../../words/times";
import { explain, explainReason, explainStage } from "../../words/verdicts";
import { Mark } from "./mark";
import css from "./verdict.module.css";

interface VerdictProps {
  result: ValidationResult;
  /** As it was typed. */
  sent: string;
  onSuggestion: (address: string) => void;
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
          {result.email !== sent && <span class="quiet"> (from “{sent}”)</span>}
        </p>
        <h3>{title}</h3>
        <p>
          {text}
          {details !== undefined && ` ${explainReason(details.reason)}`}
        </p>
        {suggestion != null && (
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

function Evidence({ details }: { details: Details }) {
  const { mx_host, smtp_code, enhanced_code, smtp_text, stage, retry_after, operator } = details;
  const reply = [smtp_code, enhanced_code].filter((part) => part != null).join(" ");
  const facts: [string, string | null | undefined][] = [
    ["Mail server", mx_host],
    ["Run by", operator?.replaceAll("_", " ")],
    [
      "Its reply",
      reply === "" ? undefined : `${reply}${smtp_text == null ? "" : ` ${withoutCodes(smtp_text)}`}`,
    ],
    ["Decided while", explainStage(stage).toLowerCase()],
    ["Worth another try", retry_after == null ? undefined : `in ${duration(retry_after)}`],
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

/** The text of a reply often repeats its enhanced code. */
function withoutCodes(text: string): string {
  return text.replace(/^\s*(?:\d{3}[ -])?(?:\d\.\d{1,3}\.\d{1,3}\s+)?/, "");
}
