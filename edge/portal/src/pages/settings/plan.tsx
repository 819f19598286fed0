// The plan, its end, and how to get another plan.
import { plan } from "../../api/plan";
import { Card } from "../../ui/card";
import { NeedMore } from "../../ui/need-more";
import { useResource } from "../../ui/resource";
import { day } from "../../words/times";

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
      <NeedMore />
    </Card>
  );
}
