// A new scan: reads the list, finds its column, and sends its parts.
import { useLocation } from "preact-iso/router";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Schemas } from "../../api/client";
import { type Scan, send } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Field, Tick } from "../../ui/field";
import { useSubmission } from "../../ui/form";
import { Meter } from "../../ui/meter";
import { NeedMore } from "../../ui/need-more";
import { Notice, ProblemNotice } from "../../ui/notice";
import { clockTimes, counted } from "../../words/times";
import page from "../scans.module.css";
import { ColumnChoice } from "./column-choice";
import css from "./new-scan.module.css";
import { fingerprintOf, remember } from "./list/fingerprints";
import { keepList } from "./list/known";
import { ListSource } from "./list-source";
import { type Figures, type List, figuresOf, sentOf } from "./list/read";

const number = new Intl.NumberFormat("en");
const NAME_CHARACTERS = 100;

interface NewScanProps {
  allowance: Schemas["ScanAllowance"];
  resetsAt: string;
}

export function NewScan({ allowance, resetsAt }: NewScanProps) {
  const [list, setList] = useState<List>();
  if (allowance.left_today === 0 && allowance.credits === 0) {
    return (
      <Notice tone="unknown" title="You’ve used all your scans for today.">
        <p>You get new ones at {clockTimes(resetsAt)}.</p>
        <NeedMore />
      </Notice>
    );
  }
  if (list === undefined) return <ListSource onList={setList} />;
  return <Ready list={list} onList={setList} allowance={allowance} />;
}

interface ReadyProps {
  list: List;
  onList: (list: List | undefined) => void;
  allowance: Schemas["ScanAllowance"];
}

function Ready({ list, onList, allowance }: ReadyProps) {
  const { route } = useLocation();
  const [name, setName] = useState(list.name.slice(0, NAME_CHARACTERS));
  const [figures, setFigures] = useState<Figures>();
  const [progress, setProgress] = useState<Scan>();
  /** Interrupted scan of this list; continuing it costs no second scan. */
  const begun = useRef<Scan | undefined>(undefined);
  useEffect(() => {
    let current = true;
    begun.current = undefined;
    setFigures(undefined);
    void figuresOf(list).then((figures) => current && setFigures(figures));
    return () => {
      current = false;
    };
  }, [list]);

  const submission = useSubmission(async () => {
    const sent = await sentOf(list);
    const parts: string[] = [];
    const column = list.header?.[list.column] ?? null;
    const scan = await send({
      begun: begun.current,
      name,
      addresses: sent.addresses,
      onProgress: (scan) => {
        begun.current = scan;
        setProgress(scan);
      },
      onPart: async ({ id }, n, addresses) => {
        const fingerprint = await fingerprintOf(id, addresses);
        if (fingerprint !== undefined) parts[n] = fingerprint;
        remember(id, { file: list.name, column, parts });
      },
    });
    keepList(scan.id, { list, sent });
    route(`/scans?id=${scan.id}`);
  });

  const tooLarge = figures !== undefined && figures.sent > allowance.scan_size;
  const none = figures !== undefined && figures.sent === figures.malformed;
  const ready = figures !== undefined && !tooLarge && !none;
  return (
    <div class={page.source}>
      <ColumnChoice list={list} onColumn={(column) => onList({ ...list, column })} />
      <dl class={css.figures}>
        <Figure name="Addresses to check" value={figures?.sent} />
        <Figure name="Repeated" value={figures?.repeated} />
        <Figure name="Not an address" value={figures?.malformed} />
      </dl>
      {(list.once || (figures?.repeated ?? 0) > 0) && (
        <Tick
          name="once"
          label={`Check repeated addresses once (${counted(figures?.repeated ?? 0, "row")})`}
          checked={list.once}
          onChecked={(once) => onList({ ...list, once })}
        />
      )}
      {(figures?.malformed ?? 0) > 0 && !none && (
        <p class="quiet">Rows that hold no address count like others. Their verdict is “undeliverable”.</p>
      )}
      <Field label="Name" name="scan-name" value={name} onValue={setName} autocomplete="off" />
      {tooLarge && (
        <Notice tone="unknown" title="This list is too long for your plan.">
          <p>A scan has at most {number.format(allowance.scan_size)} addresses.</p>
          <NeedMore />
        </Notice>
      )}
      {none && (
        <Notice tone="bad" title="There’s no email address in this column.">
          <p>Choose another column or another list.</p>
        </Notice>
      )}
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
      {progress !== undefined && <Sending scan={progress} />}
      <Actions>
        {ready && (
          <Button
            kind="primary"
            busy={submission.busy}
            busyLabel="Sending…"
            onClick={() => void submission.run()}
          >
            {figures.sent === 1 ? "Scan one address" : `Scan ${number.format(figures.sent)} addresses`}
          </Button>
        )}
        <Button onClick={() => onList(undefined)}>Choose another list</Button>
      </Actions>
    </div>
  );
}

function Sending({ scan }: { scan: Scan }) {
  const text = `${number.format(scan.received)} of ${number.format(scan.total)} sent`;
  return (
    <div>
      <Meter label="Addresses sent" value={scan.received} max={scan.total} text={text} goal />
      <p class="quiet">{text}. Keep this tab open until all are.</p>
    </div>
  );
}

function Figure({ name, value }: { name: string; value: number | undefined }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value === undefined ? "…" : number.format(value)}</dd>
    </div>
  );
}
