// Loaded before the Worker: keeps the linear memory of the wasm instance that the Worker makes.
let instance;

const Instance = WebAssembly.Instance;
WebAssembly.Instance = new Proxy(Instance, {
  construct(target, values) {
    instance = Reflect.construct(target, values);
    return instance;
  },
});

export const memory = () => instance?.exports.memory;
