// The frame of every page: the header with its links, and the footer.
import { clsx } from "clsx";
import type { ComponentChildren } from "preact";
import { endSession } from "../api/client";
import * as session from "../session";
import { contactUrl, statusUrl, termsUrl } from "../site";
import { Button, LinkButton } from "./button";
import { Logo } from "./logo";
import css from "./shell.module.css";

const MEMBER_LINKS = [
  ["/overview", "Overview"],
  ["/scans", "Scans"],
  ["/api-key", "Developers"],
  ["/settings", "Settings"],
  ["/docs", "Docs"],
] as const;

export function Shell({ path, children }: { path: string; children: ComponentChildren }) {
  const member = session.useSession();
  return (
    <>
      <a
        class={css.skip}
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class={css.header}>
        <div class={css.headerRow}>
          <a class={css.brand} href="/">
            <Logo />
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
      <Footer />
    </>
  );
}

function GuestLinks({ path }: { path: string }) {
  return (
    <nav class={clsx(css.nav, css.guest)} aria-label="Main">
      <Link to="/docs" path={path}>
        Docs
      </Link>
      <Link to="/sign-in" path={path}>
        Sign in
      </Link>
      <LinkButton href="/register" kind="primary" small current={path === "/register"}>
        Sign up
      </LinkButton>
    </nav>
  );
}

function MemberLinks({ path, email }: { path: string; email: string }) {
  function signOut() {
    const token = session.current()?.token;
    session.end("signed-out");
    if (token !== undefined) endSession(token);
  }
  return (
    <>
      <nav class={clsx(css.nav, css.member)} aria-label="Main">
        {MEMBER_LINKS.map(([to, text]) => (
          <Link to={to} path={path}>
            {text}
          </Link>
        ))}
      </nav>
      <div class={css.who}>
        <span class={css.whoEmail} title={email}>
          {email}
        </span>
        <Button kind="link" onClick={signOut}>
          Sign out
        </Button>
      </div>
    </>
  );
}

function Link({ to, path, children }: { to: string; path: string; children: string }) {
  return (
    <a
      class={css.navLink}
      href={to}
      aria-current={path.startsWith(to) || (path === "/guard" && to === "/api-key") ? "page" : undefined}
    >
      {children}
    </a>
  );
}

function Footer() {
  const configured: [string, string | undefined][] = [
    ["Contact", contactUrl()],
    ["Terms", termsUrl()],
    ["Status", statusUrl()],
  ];
  return (
    <footer class={css.footer}>
      <p>We don’t store what you check.</p>
      <p class={css.footerLinks}>
        <a href="/docs">API reference</a>
        <a href="/#plans">Plans</a>
        <a href="/privacy">Privacy</a>
        {configured.map(([text, url]) => url !== undefined && <a href={url}>{text}</a>)}
      </p>
    </footer>
  );
}
