// An empty Worker, with which the cost of the runtime itself is measured.
export default {
  fetch() {
    return new Response("{}", { headers: { "content-type": "application/json" } });
  },
};
