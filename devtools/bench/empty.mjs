// Measures the cost of the runtime itself, the floor under every other figure.
export default {
  fetch() {
    return new Response("{}", { headers: { "content-type": "application/json" } });
  },
};
