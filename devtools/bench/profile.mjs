// Where the CPU time of Workers goes, from the runtime's own sampling profiler.
//
// node profile.mjs PORT SECONDS SERVICE...   services as workerd names them, `core:user:NAME`
//
// Prints, for each, the functions with the most time of their own, as parts of the time that the isolate
// was not idle.
import { setTimeout as sleep } from "node:timers/promises";
import WebSocket from "ws";

const [port, seconds, ...services] = process.argv.slice(2);
const SHOWN = 45;
// Microseconds between two samples.
const INTERVAL = 100;

async function connect(service) {
  const socket = new WebSocket(`ws://localhost:${port}/${service}`);
  const waiting = new Map();
  let last = 0;
  socket.on("message", (data) => {
    const { id, result, error } = JSON.parse(data);
    const call = waiting.get(id);
    waiting.delete(id);
    if (error) call?.reject(new Error(error.message));
    else call?.resolve(result);
  });
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  const send = (method, params = {}) =>
    new Promise((resolve, reject) => {
      waiting.set((last += 1), { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  return { send, close: () => socket.close() };
}

/** Whose code a frame is. */
function owner({ url, functionName }) {
  if (url.startsWith("wasm:")) return "wasm";
  if (url.startsWith("cloudflare-internal:")) return "the platform's JavaScript";
  if (url !== "") return "the Worker's JavaScript";
  return functionName.startsWith("(") ? functionName : "built-in functions";
}

function plain({ functionName, url, lineNumber }) {
  return functionName || `(anonymous ${url}:${lineNumber})`;
}

/** A function with whose it is, or with its caller where it is built in. */
function named(frame, caller) {
  if (frame.functionName.startsWith("(")) return frame.functionName;
  if (frame.url !== "") return `${owner(frame)}: ${plain(frame)}`;
  return caller ? `${plain(frame)} < ${plain(caller)}` : plain(frame);
}

function add(sums, name, time) {
  sums.set(name, (sums.get(name) ?? 0) + time);
}

function table(profile) {
  const own = new Map();
  const owners = new Map();
  const nodes = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const callers = new Map();
  for (const node of profile.nodes) for (const child of node.children ?? []) callers.set(child, node.callFrame);
  profile.samples.forEach((id, index) => {
    const frame = nodes.get(id);
    const time = profile.timeDeltas[index];
    add(own, named(frame, callers.get(id)), time);
    add(owners, owner(frame), time);
  });
  const idle = own.get("(idle)") ?? 0;
  own.delete("(idle)");
  owners.delete("(idle)");
  const busy = [...own.values()].reduce((sum, time) => sum + time, 0);
  const rows = (sums) =>
    [...sums]
      .sort((a, b) => b[1] - a[1])
      .slice(0, SHOWN)
      .map(([name, time]) => `${((100 * time) / busy).toFixed(1).padStart(6)} %  ${name}`);
  const lines = [...rows(owners), "", ...rows(own)];
  const took = profile.endTime - profile.startTime;
  return [`busy ${(busy / 1000).toFixed(0)} ms, idle ${(idle / 1000).toFixed(0)} ms of ${(took / 1000).toFixed(0)} ms`, ...lines].join("\n");
}

const isolates = await Promise.all(services.map(async (name) => ({ name, ...(await connect(name)) })));
for (const { send } of isolates) {
  await send("Profiler.enable");
  await send("Profiler.setSamplingInterval", { interval: INTERVAL });
  await send("Profiler.start");
}
await sleep(Number(seconds) * 1000);
for (const { name, send, close } of isolates) {
  const { profile } = await send("Profiler.stop");
  console.log(`\n${name}: ${table(profile)}`);
  close();
}
