// The operations for which our clients and the command have a function of their own.
import type { Example } from "../../words/examples";

/** Functions of our clients, by operation: the name, and the member of the body that is its first argument. */
const FUNCTIONS: Record<string, string> = {
  validateEmail: "check email",
  validateEmails: "checkList emails",
  checkDomain: "checkDomain domain",
  decideSignUp: "decide email",
  createScan: "startScan addresses",
  showQuota: "quota",
};

const COMMANDS: Record<string, string> = {
  validateEmail: "rcpt check {email}",
  decideSignUp: "rcpt guard {email}",
  showQuota: "rcpt quota",
  listScans: "rcpt scans",
  createScan: "rcpt scan customers.csv",
  scanResults: "rcpt results SCAN_ID",
};

/** Returns what an operation's example needs to show them. */
export function clientsCall(operation: string): Pick<Example, "call" | "command"> {
  return { call: FUNCTIONS[operation], command: COMMANDS[operation] };
}
