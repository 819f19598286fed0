// Links between pages of one section, above their heading.
import { useLocation } from "preact-iso/router";
import css from "./sections.module.css";

type Links = readonly (readonly [path: string, text: string])[];

export const SETTINGS: Links = [
  ["/settings", "Account"],
  ["/settings/security", "Security"],
  ["/settings/notifications", "Notifications"],
  ["/settings/plan", "Plan"],
];
export const DEVELOPERS: Links = [
  ["/api-key", "API key"],
  ["/guard", "Sign-up guard"],
];

export function Sections({ label, links }: { label: string; links: Links }) {
  const { path } = useLocation();
  return (
    <nav class={css.sections} aria-label={label}>
      {links.map(([to, text]) => (
        <a href={to} aria-current={path === to ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
