// Runs the reference's examples in each language, as readers would: with the command and the
// packages of a release.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./stack.mjs";

const run = promisify(execFile);
const TARGET = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, "target");
// Parent folder of the tools, by the same rule as in tools/versions.
const CACHE = process.env.XDG_CACHE_HOME || path.join(homedir(), ".cache");
const TOOLS = process.env.RCPT_TOOLS || path.join(CACHE, "rcpt/tools");

let installed;
let examples = 0;

/** Returns a function for each language, which runs a program and resolves to its output. */
export async function programs() {
  const { folder, python } = await (installed ??= install());
  const options = { cwd: folder, env: { ...process.env, PYTHONPATH: python } };
  return {
    curl: (text) => run("sh", ["-ec", text], options),
    rcpt: (text) => run("sh", ["-c", `${text}; test $? -le 3`], options),
    TypeScript: (text) => {
      // Each example has its own file, because tests run in parallel.
      const example = `example-${(examples += 1)}.mjs`;
      writeFileSync(path.join(folder, example), text);
      return run("node", [example], options);
    },
    Python: (text) => run(path.join(TOOLS, "clients/bin/python"), ["-c", text], options),
  };
}

/**
 * Installs the packages in a folder that is removed when the tests end, while other tests go on. The packages'
 * dependencies are found in parent folders.
 */
async function install() {
  const folder = mkdtempSync(path.join(ROOT, "target/examples-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const packed = path.join(ROOT, "target/clients");
  await run(path.join(ROOT, "tools/clients"), ["packed"]);
  const named = (end) =>
    path.join(
      packed,
      readdirSync(packed).find((name) => name.endsWith(end)),
    );
  const typescript = path.join(folder, "node_modules/rcpt-client");
  mkdirSync(typescript, { recursive: true });
  await run("tar", ["-xzf", named(".tgz"), "--strip-components=1", "-C", typescript]);
  const python = path.join(folder, "python");
  const pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", python];
  await run(path.join(TOOLS, "clients/bin/python"), [...pip, named(".whl")]);
  process.env.PATH = `${path.join(TARGET, "debug")}:${process.env.PATH}`;
  writeFileSync(path.join(folder, "customers.csv"), "email\naccepts@sandbox.test\nrejects@sandbox.test\n");
  return { folder, python };
}
