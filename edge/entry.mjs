// The Worker's entry. After a panic the next event begins with a new instance of the wasm.
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

// Paths of the API, including `/validate_email` without `/v1`; no page has such a path.
const API = /^[a-z]+:\/\/[^/?#]*\/(?:v1(?:[/?#]|$)|validate_email(?:[?#]|$))/;

// Requests for pages and their files: GET or HEAD outside the API. Everything else gets a JSON response from the
// Worker.
const isPage = ({ method, url }) => (method === "GET" || method === "HEAD") && !API.test(url);

export default {
  fetch: (request, env, context) =>
    isPage(request) ? env.ASSETS.fetch(request) : guarded(wasm.fetch, request, env, context),
  queue: (batch, env, context) => guarded(wasm.queue, batch, env, context),
  scheduled: (event, env, context) => guarded(wasm.scheduled, event, env, context),
};
