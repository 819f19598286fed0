// First message on the overview after an emailed link was used.
export type Greeting = "confirmed" | "password-set";

let greeting: Greeting | undefined;

export function greetWith(next: Greeting): void {
  greeting = next;
}

/** Returns the greeting and clears it, so that it's shown once. */
export function takeGreeting(): Greeting | undefined {
  const taken = greeting;
  greeting = undefined;
  return taken;
}
