// A new scan: the list is read here, its column is found, and its parts are sent.
import { useLocation } from "preact-iso/router";
import { useEffect, useState } from "preact/hooks";
import { type Schemas } from "../../api/client";
import { type Scan, send } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Field } from "../../ui/field";
import { useSubmission } from "../../ui/form";
import { Meter } from "../../ui/meter";
import { Notice, ProblemNotice } from "../../ui/notice";
import page from "../scans.module.css";
import css from "./new-scan.module.css";
import { keepList } from "./known-lists";
import { ListSource } from "./list-source";
import { type Figures, type List, addressesOf, figuresOf } from "./read-list";

const number = new Intl.NumberFormat("en");
const NAME = 100;

export function NewScan({ allowance }: { allowance: Schemas["ScanAllowance"] }) {
  const [list, setList] = useState<List>();
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
  const [name, setName] = useState(list.name.slice(0, NAME));
  const [figures, setFigures] = useState<Figures>();
  const [sent, setSent] = useState<Scan>();
  useEffect(() => {
    let current = true;
    setFigures(undefined);
    void figuresOf(list).then((figures) => current && setFigures(figures));
    return () => {
      current = false;
    };
  }, [list]);

  const submission = useSubmission(async () => {
    const scan = await send(name, addressesOf(list), setSent);
    keepList(scan.id, list);
    route(`/scans?id=${scan.id}`);
  });

  const tooLarge = list.rows.length > allowance.scan_size;
  const none = allowance.left_today === 0 && allowance.credits === 0;
  return (
    <div class={page.source}>
      {(list.header !== null || (list.rows[0]?.length ?? 0) > 1) && (
        <ColumnChoice list={list} onColumn={(column) => onList({ ...list, column })} />
      )}
      <dl class={css.figures}>
        <Figure name="Addresses" value={list.rows.length} />
        <Figure name="Repeated" value={figures?.duplicates} />
        <Figure name="Not an address" value={figures?.malformed} />
      </dl>
      <Field label="Name" name="scan-name" value={name} onValue={setName} autocomplete="off" />
      {tooLarge && (
        <Notice tone="unknown" title="This list is too long for your plan.">
          <p>A scan has at most {number.format(allowance.scan_size)} addresses.</p>
        </Notice>
      )}
      {none && (
        <Notice tone="unknown" title="You’ve used all your scans.">
          <p>You have new ones after midnight UTC.</p>
        </Notice>
      )}
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
      {sent !== undefined && (
        <div>
          <Meter
            label="Addresses sent"
            value={sent.received}
            max={sent.total}
            text={`${number.format(sent.received)} of ${number.format(sent.total)} sent`}
            goal
          />
          <p class="quiet">
            {number.format(sent.received)} of {number.format(sent.total)} sent. Keep this tab open until all
            are.
          </p>
        </div>
      )}
      <Actions>
        {!tooLarge && !none && (
          <Button
            kind="primary"
            busy={submission.busy}
            busyLabel="Sending…"
            onClick={() => void submission.run()}
          >
            {list.rows.length === 1
              ? "Scan one address"
              : `Scan ${number.format(list.rows.length)} addresses`}
          </Button>
        )}
        <Button onClick={() => onList(undefined)}>Choose another list</Button>
      </Actions>
    </div>
  );
}

function ColumnChoice({ list, onColumn }: { list: List; onColumn: (column: number) => void }) {
  const width = Math.max(list.header?.length ?? 0, list.rows[0]?.length ?? 0);
  return (
    <label class={page.choice}>
      Column with the addresses
      <select value={list.column} onChange={(event) => onColumn(Number(event.currentTarget.value))}>
        {Array.from({ length: width }, (_, column) => (
          <option value={column}>
            {list.header?.[column] ?? `Column ${column + 1}: ${list.rows[0]?.[column] ?? ""}`}
          </option>
        ))}
      </select>
    </label>
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
