// Lets the owner download everything stored about the account.
import { call } from "../../api/client";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { download } from "../../ui/download";
import { useSubmission } from "../../ui/form";
import { ProblemNotice } from "../../ui/notice";

export function ExportData() {
  const submission = useSubmission(async () => {
    const data = await call("get", "/v1/me/export", "session");
    const text = `${JSON.stringify(data, null, 2)}\n`;
    download(new Blob([text], { type: "application/json" }), "rcpt-account.json");
  });
  return (
    <Card id="data" title="Your data" split>
      <p>
        One JSON file with everything we store about your account, except secrets. Results of scans aren’t in
        it: each scan’s page has its own download.
      </p>
      <Actions>
        <Button busy={submission.busy} busyLabel="Preparing…" onClick={() => void submission.run()}>
          Download your data
        </Button>
      </Actions>
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
    </Card>
  );
}
