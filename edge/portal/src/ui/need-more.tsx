// Advice at a limit of the plan: buy another plan if possible, or ask.
import { plan as ask } from "../api/plan";
import { contactUrl } from "../site";
import { useResource } from "./resource";

export function NeedMore() {
  const contact = contactUrl();
  const plan = useResource(ask);
  const checkouts = plan.data?.checkouts ?? [];
  if (checkouts.length === 0 && contact === undefined) return null;
  return (
    <p>
      Need more?{" "}
      {checkouts.map(({ plan: name, url }) => (
        <>
          <a href={url} rel="noreferrer">
            Switch to the {name} plan
          </a>
          .{" "}
        </>
      ))}
      {contact !== undefined && (
        <>
          <a href={contact}>Ask us about a larger plan</a>
          {plan.data !== undefined && (
            <>
              , and quote <code class="address">{plan.data.reference}</code>
            </>
          )}
          .
        </>
      )}
    </p>
  );
}
