// Pages opened by a mailed link: they use its token once, and sign in with the result.
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso/router";
import { useState } from "preact/hooks";
import type { Schemas } from "../api/client";
import { type Greeting, greetWith } from "../greeting";
import { forgetMailedToken, mailedToken } from "../mailed-token";
import * as session from "../session";
import { type Submission, useSubmission } from "./form";
import { Notice } from "./notice";
import { Lead, Page } from "./page";

interface MailedLink {
  /** Reason why the link can't be used: it has no token, or its token no longer works. */
  broken: "incomplete" | "useless" | undefined;
  submission: Submission;
}

/** `action` exchanges the token for credentials, or returns nothing if more input is needed first. */
export function useMailedLink(
  greeting: Greeting,
  action: (token: string) => Promise<Schemas["SessionCredentials"] | undefined>,
): MailedLink {
  const { route } = useLocation();
  const [token] = useState(mailedToken);
  const submission = useSubmission(async () => {
    if (token === undefined) return;
    const credentials = await action(token);
    if (credentials === undefined) return;
    forgetMailedToken();
    greetWith(greeting);
    session.start(credentials);
    route("/overview", true);
  });
  const useless = submission.problem?.code === "invalid_token";
  return { broken: token === undefined ? "incomplete" : useless ? "useless" : undefined, submission };
}

interface BrokenLinkProps {
  broken: "incomplete" | "useless";
  /** Lifetime of the link in words, such as "an hour". */
  validity: string;
  /** Next step, shown below the notice. */
  children: ComponentChildren;
}

export function BrokenLink({ broken, validity, children }: BrokenLinkProps) {
  const useless = broken === "useless";
  return (
    <Page key="broken" title={useless ? "This link doesn’t work" : "This link is incomplete"} layout="narrow">
      {useless ? (
        <Notice tone="bad">
          <p>It has been used already, a newer one has replaced it, or it’s older than {validity}.</p>
        </Notice>
      ) : (
        <Lead>Open it again from the email, or copy all of it into the address bar.</Lead>
      )}
      {children}
    </Page>
  );
}
