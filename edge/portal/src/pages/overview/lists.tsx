// The last lists, for those who came for lists.
import type { Schemas } from "../../api/client";
import { list } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { LinkButton } from "../../ui/button";
import { Card } from "../../ui/card";
import { Loaded, useResource } from "../../ui/resource";
import { counted } from "../../words/times";
import { ScanList } from "../scans/scan-list";

/** Scans shown. */
const LAST = 3;

export function Lists({ left }: { left: Schemas["ScanAllowance"] | undefined }) {
  const scans = useResource(() => list());
  return (
    <Card id="lists" title="Your lists">
      <Loaded resource={scans} skeleton={["line", "line"]} what="your lists">
        {({ scans: all }) => <ScanList scans={all.slice(0, LAST)} />}
      </Loaded>
      <Actions>
        <LinkButton href="/scans">Scan a list</LinkButton>
        {left !== undefined && <span class="quiet">{`${counted(left.left_today, "scan")} left today`}</span>}
      </Actions>
    </Card>
  );
}
