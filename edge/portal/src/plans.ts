// The plans, as every page tells them.
interface Plan {
  name: string;
  checksPerDay: number;
  /** Checks that never expire, given once. */
  welcomeChecks: number;
}

export const FREE: Plan = { name: "Free", checksPerDay: 100, welcomeChecks: 50 };
export const PRO: Plan = { name: "Pro", checksPerDay: 5_000, welcomeChecks: 50 };
