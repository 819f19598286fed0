import type { ComponentChildren } from "preact";
import { go } from "../navigation";
import * as session from "../session";

const MEMBER_LINKS = [
  ["/overview", "Overview"],
  ["/api-key", "API key"],
  ["/settings", "Settings"],
  ["/docs", "Docs"],
] as const;

/** What every page has around it. */
export function Shell({ path, children }: { path: string; children: ComponentChildren }) {
  const member = session.useSession();
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="header">
        <div class="header-row">
          <a class="brand" href="/">
            rcpt
          </a>
          {member === undefined ? (
            <GuestLinks path={path} />
          ) : (
            <MemberLinks path={path} email={member.email} />
          )}
        </div>
      </header>
      {children}
      <footer class="footer">
        <p>
          rcpt asks mail servers whether they accept mail for an address. The addresses you check are not
          stored.
        </p>
        <p>
          <a href="/docs">API reference</a> <a href={`${API_URL}/v1/openapi.json`}>OpenAPI document</a>
        </p>
      </footer>
    </>
  );
}

function GuestLinks({ path }: { path: string }) {
  return (
    <nav class="nav guest" aria-label="Main">
      <Link to="/docs" path={path}>
        Docs
      </Link>
      <Link to="/sign-in" path={path}>
        Sign in
      </Link>
      <a
        class="button primary small"
        href="/register"
        aria-current={path === "/register" ? "page" : undefined}
      >
        Register
      </a>
    </nav>
  );
}

function MemberLinks({ path, email }: { path: string; email: string }) {
  function signOut() {
    session.end("signed-out");
    go("/sign-in");
  }
  return (
    <>
      <nav class="nav member" aria-label="Main">
        {MEMBER_LINKS.map(([to, text]) => (
          <Link to={to} path={path}>
            {text}
          </Link>
        ))}
      </nav>
      <div class="who">
        <span class="who-email" title={email}>
          {email}
        </span>
        <button type="button" class="button link" onClick={signOut}>
          Sign out
        </button>
      </div>
    </>
  );
}

function Link({ to, path, children }: { to: string; path: string; children: string }) {
  return (
    <a class="nav-link" href={to} aria-current={path === to ? "page" : undefined}>
      {children}
    </a>
  );
}
