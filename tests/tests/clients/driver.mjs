// Runs cases with the TypeScript client as installed by its users. Reads each case as a line of JSON, and writes the
// result as a line. The first argument is the folder of the installed package.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Rcpt, RcptError } = await import(pathToFileURL(`${process.argv[2]}/dist/index.js`));

for await (const line of createInterface({ input: process.stdin })) {
  const { url, api_key: apiKey, do: operation, email, emails, domain, details, key, deadline_ms } = JSON.parse(line);
  const rcpt = new Rcpt({ url, apiKey });
  const deadline = deadline_ms === null ? {} : { deadlineMs: deadline_ms };
  const options = { details, ...deadline, ...(key === "" ? {} : { idempotencyKey: key }) };
  try {
    const asked = {
      quota: () => rcpt.quota(),
      list: () => rcpt.checkList(emails, options),
      domain: () => rcpt.checkDomain(domain),
      decide: () => rcpt.decide(email),
      check: () => rcpt.check(email, options),
    };
    const body = await asked[operation]();
    console.log(JSON.stringify({ status: 200, body, left: rcpt.rateLimit }));
  } catch (error) {
    if (!(error instanceof RcptError)) throw error;
    const { status, code, message } = error;
    console.log(JSON.stringify({ status, code, message, left: rcpt.rateLimit }));
  }
}
