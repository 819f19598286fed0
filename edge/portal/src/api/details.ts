import type { Schemas } from "./client";

export type CheckRequest = Schemas["CheckRequest"];
export type ValidationResult = Schemas["ValidationResult"];

/** Why a verdict is what it is, when the check asked for it. */
export type Details = NonNullable<ValidationResult["details"]>;
