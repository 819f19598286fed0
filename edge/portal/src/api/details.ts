// What a check takes and gives.
import type { Schemas } from "./client";

export type CheckRequest = Schemas["CheckRequest"];

/** What newer services say beside the status, and older ones leave out. */
interface Judgement {
  verdict?: "deliverable" | "undeliverable" | "risky" | "unknown";
  /** How far the evidence goes: `low` where a server accepts whatever it is asked. */
  confidence?: "high" | "medium" | "low" | "none";
  /** Who runs the mail server, such as `google`. */
  operator?: string | null;
}

/** Why a verdict is what it is, when the check asked for it. */
export type Details = NonNullable<Schemas["ValidationResult"]["details"]> & Judgement;

export type ValidationResult = Omit<Schemas["ValidationResult"], "details"> & { details?: Details };
