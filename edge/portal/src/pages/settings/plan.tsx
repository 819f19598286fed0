// The plan, its end, and how to get another plan.
import { plan } from "../../api/plan";
import { PRO } from "../../plans";
import { Card } from "../../ui/card";
import { NeedMore } from "../../ui/need-more";
import { useResource } from "../../ui/resource";
import { day } from "../../words/times";

const number = new Intl.NumberFormat("en");

export function Plan({ name }: { name: string }) {
  const { data } = useResource(plan);
  const until = data?.until ?? null;
  return (
    <Card id="plan" title="Plan" split>
      <p>
        You’re on the <strong>{name}</strong> plan
        {until !== null && ` until ${day(until)}, and on the free plan after that`}.{" "}
        <a href="/#plans">Compare the plans</a>.
      </p>
      {name === "free" && (
        <p>
          {PRO.name}: {number.format(PRO.checksPerDay)} checks and {PRO.scansPerDay} scans a day, with up to{" "}
          {number.format(PRO.scanSize)} addresses each. <strong>{PRO_PRICE}</strong>.
        </p>
      )}
      {name !== "unlimited" && <NeedMore />}
    </Card>
  );
}
