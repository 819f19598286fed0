// The Node process for all edges of a test program; each edge has its own miniflare and workerd. A separate Node for
// each edge would spend most of a second of CPU time on loading and compiling miniflare.
//
// node host.mjs prints `listening PORT`. A POST to / with an edge's settings (edge.mjs) starts the edge. The response
// is the process id of its workerd, or 500 with the reason. An edge ends with its workerd.
import childProcess from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { Edge, Log, LogLevel } from "./edge.mjs";

/**
 * D1 waits for the disk several times in each statement that writes. Nothing here has to survive the machine, and what
 * a killed workerd has written is in the kernel: so its syncs return at once.
 */
const UNSYNCED = { LD_PRELOAD: "libeatmydata.so" };

/** Edges that are being started, by the address of their workerd. */
const starting = new Map();

// Miniflare doesn't reveal the process that it has started, so `spawn` is replaced. The log is complete
// even if this program is busy, because workerd writes directly to it.
const { spawn } = childProcess;
childProcess.spawn = (command, args, options) => {
  const address = args
    .find((arg) => arg.startsWith("--socket-addr=entry="))
    ?.split("=")
    .at(-1);
  const edge = starting.get(address);
  if (edge === undefined) return spawn(command, args, options);
  const [stdin, , , control] = options.stdio;
  const { file } = edge.log;
  const env = { ...options.env, ...UNSYNCED };
  const workerd = spawn(command, args, { ...options, env, stdio: [stdin, file, file, control] });
  edge.started({ workerd, ended: once(workerd, "close") });
  return Object.assign(workerd, { stdout: Readable.from([]), stderr: Readable.from([]) });
};

// An error in one edge is reported to its own test; other edges continue.
for (const event of ["uncaughtException", "unhandledRejection"])
  process.on(event, (error) => console.error(event, error));
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));

const server = createServer(async (request, response) => {
  try {
    const { pid } = await run(JSON.parse(await text(request)));
    response.end(String(pid));
  } catch (error) {
    response.writeHead(500).end(error.stack ?? String(error));
  }
});
server.listen(0, "127.0.0.1", () => console.log(`listening ${server.address().port}`));

async function run(settings) {
  const log = new FileLog(settings.log);
  const address = `127.0.0.1:${settings.port}`;
  const start = new Promise((started) => starting.set(address, { log, started }));
  let edge;
  try {
    edge = new Edge(settings, log);
    await edge.ready;
  } catch (error) {
    await edge?.dispose().catch(console.error);
    throw error;
  } finally {
    starting.delete(address);
  }
  const { workerd, ended } = await start;
  ended.then(() => edge.dispose()).then(() => log.close(), console.error);
  return workerd;
}

/** miniflare's log of one edge, in the edge's own file. */
class FileLog extends Log {
  file;

  constructor(path) {
    super(LogLevel.INFO);
    closeSync(openSync(path, "w"));
    this.file = openSync(path, "a");
  }

  log(message) {
    writeSync(this.file, `${message}\n`);
  }

  close() {
    closeSync(this.file);
  }
}
