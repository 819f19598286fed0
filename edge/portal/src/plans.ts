// The plans as shown on every page. A test compares them with the service.
interface Plan {
  name: string;
  checksPerDay: number;
  /** Checks that never expire, given once. */
  welcomeChecks: number;
  scansPerDay: number;
  scanSize: number;
}

export const FREE: Plan = {
  name: "Free",
  checksPerDay: 100,
  welcomeChecks: 50,
  scansPerDay: 1,
  scanSize: 200,
};
export const PRO: Plan = {
  name: "Pro",
  checksPerDay: 5_000,
  welcomeChecks: 50,
  scansPerDay: 20,
  scanSize: 10_000,
};
