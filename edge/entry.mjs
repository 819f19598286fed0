// The Worker's entry, in place of worker-build's: that one makes an instance of a class for each event, and
// wraps it and each of its methods in a Proxy. After a panic the next event begins with a new instance of
// the wasm, as there.
import * as wasm from "./index.js";

Error.stackTraceLimit = 100;
const state = wasm.__worker_init_state();

function failed(error) {
  if (!(error instanceof WebAssembly.RuntimeError)) return;
  console.error("Critical", error);
  state.criticalError = true;
}

addEventListener("error", (event) => failed(event.error));
addEventListener("unhandledrejection", (event) => failed(event.reason));

// The platform's own is 10 µs slower than a promise, and a check needs five. What a task throws is an unhandled rejection.
const settled = Promise.resolve();
globalThis.queueMicrotask = (task) => void settled.then(task);

function guarded(handler, what, env, context) {
  if (state.criticalError) {
    console.log("Reinitializing Wasm application");
    wasm.__wbg_reset_state();
    state.criticalError = false;
    state.instanceId += 1;
  }
  try {
    return handler(what, env, context);
  } catch (error) {
    failed(error);
    throw error;
  }
}

export default {
  fetch: (request, env, context) => guarded(wasm.fetch, request, env, context),
  queue: (batch, env, context) => guarded(wasm.queue, batch, env, context),
  scheduled: (event, env, context) => guarded(wasm.scheduled, event, env, context),
};
