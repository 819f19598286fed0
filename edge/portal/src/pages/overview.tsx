import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";
import { Loaded, useResource } from "../ui/resource";
import { Allowances } from "./overview/allowances";
import { CheckBox } from "./overview/check-box";

const GREETINGS: Record<string, { title: string; text: string }> = {
  confirmed: {
    title: "Your address is confirmed, and you are signed in.",
    text: "Try an address below. Your API key is ready on the API key page.",
  },
  "password-set": {
    title: "Your new password is set, and you are signed in.",
    text: "Every other session of your account was ended.",
  },
};

export default function Overview() {
  const [greeting] = useState(() => GREETINGS[String(history.state)]);
  const quota = useResource(() => call("get", "/v1/me/quota", "session"));
  return (
    <Page title="Overview" layout="overview">
      {greeting !== undefined && (
        <Notice tone="good" title={greeting.title}>
          <p>{greeting.text}</p>
        </Notice>
      )}
      <CheckBox onCounted={() => void quota.reload()} />
      <section class="card" aria-labelledby="today">
        <h2 id="today">Today</h2>
        <Loaded resource={quota} skeleton={["line", "line", "line"]} what="your allowances">
          {(report) => <Allowances report={report} />}
        </Loaded>
      </section>
    </Page>
  );
}
