// Request and response of a check.
import type { Schemas } from "./client";

export type CheckRequest = Schemas["CheckRequest"];

/** Why a verdict is what it is, when the check asked for it. */
export type Details = NonNullable<Schemas["ValidationResult"]["details"]>;

export type ValidationResult = Schemas["ValidationResult"];
