// A new scan: reads the list, finds its column, and sends its parts.
import { useLocation } from "preact-iso/router";
import { clsx } from "clsx";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Schemas } from "../../api/client";
import { create } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Field, Tick } from "../../ui/field";
import { useSubmission } from "../../ui/form";
import { NeedMore } from "../../ui/need-more";
import { Notice, ProblemNotice } from "../../ui/notice";
import { clockTimes, counted } from "../../words/times";
import page from "../scans.module.css";
import css from "./new-scan.module.css";
import { keep } from "./list/kept";
import { draft, keepDraft, keepList } from "./list/known";
import { ListSource } from "./list-source";
import { type List, UnreadableList, reformed, reread, sentOf, tagsOf } from "./list/read";
import { send } from "./list/sending";
import { Reading } from "./reading";

const number = new Intl.NumberFormat("en");
const NAME_CHARACTERS = 100;

interface NewScanProps {
  allowance: Schemas["ScanAllowance"];
  resetsAt: string;
}

export function NewScan({ allowance, resetsAt }: NewScanProps) {
  const [list, setList] = useState(draft);
  function prepare(to: List | undefined) {
    keepDraft(to);
    setList(to);
  }
  if (allowance.left_today === 0 && allowance.credits === 0) {
    return (
      <Notice tone="unknown" title="You’ve used all your scans for today.">
        <p>You get new ones at {clockTimes(resetsAt)}.</p>
        <NeedMore />
      </Notice>
    );
  }
  if (list === undefined) return <ListSource onList={prepare} />;
  return <Ready list={list} onList={prepare} allowance={allowance} />;
}

interface ReadyProps {
  list: List;
  onList: (list: List | undefined) => void;
  allowance: Schemas["ScanAllowance"];
}

function Ready({ list, onList, allowance }: ReadyProps) {
  const { route } = useLocation();
  const [name, setName] = useState(list.name.slice(0, NAME_CHARACTERS));
  const heading = useRef<HTMLParagraphElement>(null);
  // The control that had the focus is gone.
  useEffect(() => heading.current?.focus(), []);
  const [unreadable, setUnreadable] = useState<string>();
  function change(changed: Promise<List>): void {
    setUnreadable(undefined);
    changed.then(onList, (error: unknown) => {
      if (!(error instanceof UnreadableList)) throw error;
      setUnreadable(error.message);
    });
  }

  const submission = useSubmission(async () => {
    const sent = await sentOf(list);
    const scan = await create(name.trim(), sent.addresses.length);
    const { name: file, caseMatters } = list;
    const column = list.hasHeadings ? (list.columns[list.column] ?? null) : null;
    // Before any address is sent, so that sending can go on after an interruption.
    await keep({ scan: scan.id, file, column, caseMatters, tags: await tagsOf(list, scan.id) });
    keepList(scan.id, { list, sent });
    keepDraft(undefined);
    void send(scan, sent.addresses);
    route(`/scans?id=${scan.id}`);
  });

  const { figures } = list;
  const tooLarge = figures.addresses > allowance.scan_size;
  const none = figures.addresses === 0;
  return (
    <form
      class={page.source}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!tooLarge && !none && !submission.busy) void submission.run();
      }}
    >
      <p class={clsx("quiet", css.read)} role="status" tabIndex={-1} ref={heading}>
        {`${counted(figures.rows, "row")} read from ${list.name}.`}
      </p>
      <Reading
        list={list}
        onColumn={(column) => change(reformed(list, { column }))}
        onChoices={(choices) => change(reread(list, choices))}
      />
      {list.notices.length > 0 && (
        <ul class={css.notices} aria-label="About this file">
          {list.notices.map((notice) => (
            <li>{notice}</li>
          ))}
        </ul>
      )}
      <dl class={css.figures}>
        <Figure name="Addresses to check" value={figures.addresses} />
        <Figure name="Repeated" value={figures.repeated} />
        <Figure name="Not an address" value={figures.notAnAddress} />
        <Figure name="No address" value={figures.empty} />
        {figures.several > 0 && <Figure name="Several in one cell" value={figures.several} />}
      </dl>
      {figures.repeated > 0 && (
        <Tick
          name="once"
          label={`Check repeated addresses once (${counted(figures.repeated, "repeat")})`}
          checked={list.once}
          onChecked={(once) => change(reformed(list, { once }))}
        />
      )}
      {(figures.repeated > 0 || list.caseMatters) && (
        <Tick
          name="case"
          label="Ann@example.org and ann@example.org are different people"
          checked={list.caseMatters}
          onChecked={(caseMatters) => change(reformed(list, { caseMatters }))}
        />
      )}
      {figures.notAnAddress > 0 && <Unread list={list} />}
      <Field label="Name" name="scan-name" value={name} onValue={setName} autocomplete="off" />
      {tooLarge && (
        <Notice tone="unknown" title="This list is too long for your plan.">
          <p>
            A scan has at most {number.format(allowance.scan_size)} addresses.
            {!list.once &&
              figures.addresses - figures.repeated <= allowance.scan_size &&
              " If repeated addresses are checked once, it fits."}
          </p>
          <NeedMore />
        </Notice>
      )}
      {none && (
        <Notice tone="bad" title="There’s no email address in this column.">
          <p>Choose another column or another list.</p>
        </Notice>
      )}
      {unreadable !== undefined && (
        <Notice tone="bad">
          <p>{unreadable}</p>
        </Notice>
      )}
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
      <Actions>
        {!tooLarge && !none && (
          <Button type="submit" kind="primary" busy={submission.busy} busyLabel="Starting…">
            {figures.addresses === 1
              ? "Scan one address"
              : `Scan ${number.format(figures.addresses)} addresses`}
          </Button>
        )}
        <Button
          onClick={() => {
            list.source.close();
            onList(undefined);
          }}
        >
          Choose another list
        </Button>
      </Actions>
    </form>
  );
}

/** Shows the first rows that can't be read as an address. They aren't checked, and don't count. */
function Unread({ list: { unread, figures } }: { list: List }) {
  return (
    <details class={css.unread}>
      <summary>
        {`${counted(figures.notAnAddress, "row")} can’t be read as an address, so nobody is asked about ${figures.notAnAddress === 1 ? "it" : "them"}`}
      </summary>
      <ul>
        {unread.map(({ row, problem, suggestion }) => (
          <li>
            Row {number.format(row)}: {problem}
            {suggestion !== "" && (
              <>
                {" "}
                Did you mean <span class="address">{suggestion}</span>?
              </>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Figure({ name, value }: { name: string; value: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{number.format(value)}</dd>
    </div>
  );
}
