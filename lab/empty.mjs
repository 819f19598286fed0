// An empty Worker, to measure the cost of the runtime itself.
export default {
  fetch() {
    return new Response("{}", { headers: { "content-type": "application/json" } });
  },
};
