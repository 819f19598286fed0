// Request and response of a check.
import type { Schemas } from "./client";

export type CheckRequest = Schemas["CheckRequest"];

/** The evidence behind a verdict, if the check requested it. */
export type Details = NonNullable<Schemas["ValidationResult"]["details"]>;

export type ValidationResult = Schemas["ValidationResult"];
