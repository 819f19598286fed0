// The rest of a list that hasn't been sent yet: its progress, or the way to go on after an interruption.
import { useEffect } from "preact/hooks";
import type { Scan } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Meter } from "../../ui/meter";
import { ProblemNotice } from "../../ui/notice";
import { ChooseAgain } from "./choose-again";
import type { KnownList } from "./list/known";
import { send, useSending } from "./list/sending";
import css from "./one-scan.module.css";

const number = new Intl.NumberFormat("en");

interface UnsentProps {
  scan: Scan;
  known: KnownList | undefined;
  onKnown: (known: KnownList) => void;
}

export function Unsent({ scan, known, onKnown }: UnsentProps) {
  const sending = useSending(scan.id);
  useEffect(() => {
    if (known !== undefined) void send(scan, known.sent.addresses);
  }, [known]);
  const { received } = sending?.scan ?? scan;
  const text = `${number.format(received)} of ${number.format(scan.total)} sent`;
  return (
    <>
      <div class={css.unsent}>
        <Meter label="Addresses sent" value={received} max={scan.total} text={text} goal />
        <p class="quiet" role="status">
          {text}.{sending?.state === "under way" && " Keep this tab open until all are."}
          {sending?.problem !== undefined &&
            sending.state === "under way" &&
            " We’re trying again by ourselves."}
        </p>
        {sending?.problem !== undefined && <ProblemNotice problem={sending.problem} />}
        {sending?.state === "stopped" && known !== undefined && (
          <Actions>
            <Button onClick={() => void send(sending.scan, known.sent.addresses)}>Send the rest</Button>
          </Actions>
        )}
      </div>
      {/* Once there are results, they ask for the file. */}
      {known === undefined && scan.answered === 0 && scan.waiting === 0 && (
        <ChooseAgain scan={scan} onKnown={onKnown} />
      )}
    </>
  );
}
