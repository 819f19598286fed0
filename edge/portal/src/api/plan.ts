// API calls about the account's plan.
import { call } from "./client";

export const plan = () => call("get", "/v1/me/plan", "session");
