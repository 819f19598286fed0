// Measures the start time of an isolate by the size of its Worker: the CPU time of workerd until its first response.
// The Worker has zero, one, two or four copies of the wasm module. Usage: node lab/cold-start.mjs [FILE]
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const repository = fileURLToPath(new URL("..", import.meta.url));
const file = process.argv[2] ?? path.join(repository, "edge/build/index_bg.wasm");
const workerd = path.join(repository, "node_modules/@cloudflare/workerd-linux-64/bin/workerd");
const COPIES = [0, 1, 2, 4];
const STARTS = 15;

const wasm = readFileSync(file);
const kilobytes = gzipSync(wasm, { level: 9 }).length / 1000;
const folder = mkdtempSync(path.join(os.tmpdir(), "cold-start-"));
writeFileSync(path.join(folder, "copy.wasm"), wasm);

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

// Returns the CPU time of all threads of a process in milliseconds.
function cpu(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]));
  return nanoseconds.reduce((sum, part) => sum + part, 0) / 1e6;
}

async function start(copies) {
  const port = await freePort();
  const names = Array.from({ length: copies }, (_, index) => `copy${index}`);
  const imports = names.map((name) => `import ${name} from "${name}.wasm";`).join("\n");
  const script = `${imports}\nexport default { fetch: () => new Response([${names}].length.toString()) };\n`;
  writeFileSync(path.join(folder, "main.js"), script);
  const modules = names.map((name) => `(name = "${name}.wasm", wasm = embed "copy.wasm")`);
  writeFileSync(
    path.join(folder, "config.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]);
const worker :Workerd.Worker = (compatibilityDate = "2026-01-01",
  modules = [${['(name = "main", esModule = embed "main.js")', ...modules].join(", ")}]);
`,
  );
  const server = spawn(workerd, ["serve", path.join(folder, "config.capnp")], { stdio: "inherit" });
  try {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}`).catch(() => null);
      if ((await answer?.text()) === String(copies)) return cpu(server.pid);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  } finally {
    server.kill();
    await new Promise((resolve) => server.once("exit", resolve));
  }
}

const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
const times = COPIES.map(() => []);
try {
  // The Workers alternate, so that other load on the machine affects all equally.
  for (let round = 0; round < STARTS; round += 1) {
    for (const [index, copies] of COPIES.entries()) times[index].push(await start(copies));
  }
} finally {
  rmSync(folder, { recursive: true });
}
const medians = times.map(median);
for (const [index, copies] of COPIES.entries()) {
  console.log(`${copies} × ${kilobytes.toFixed(0)} KB gzipped: ${medians[index].toFixed(1)} ms of CPU`);
}
const slope = (medians.at(-1) - medians[0]) / (COPIES.at(-1) * kilobytes);
console.log(`${(slope * 100).toFixed(2)} ms for each 100 KB`);
