// Our mark: a recipient between angle brackets, as SMTP writes it.
export function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
      <rect width="32" height="32" rx="9" fill="var(--ink)" />
      <path
        d="M11.5 9.5 5.5 16l6 6.5M20.5 9.5l6 6.5-6 6.5"
        fill="none"
        stroke="var(--on-ink)"
        stroke-width="2.8"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
      <circle cx="16" cy="16" r="3.1" fill="var(--signal)" />
    </svg>
  );
}
