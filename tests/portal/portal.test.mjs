// The portal in a real browser, against the running service. `npm run test:portal`; needs `make build` and Debian's
// chromium-headless-shell (CHROMIUM=/usr/bin/chromium uses a whole browser).
import { after, before, describe } from "node:test";
import * as apiKey from "./suites/api-key.mjs";
import * as description from "./suites/description.mjs";
import * as docs from "./suites/docs.mjs";
import * as faults from "./suites/faults.mjs";
import * as firstPage from "./suites/first-page.mjs";
import * as guard from "./suites/guard.mjs";
import * as keyboard from "./suites/keyboard.mjs";
import * as mails from "./suites/mails.mjs";
import * as namedKeys from "./suites/named-keys.mjs";
import * as overview from "./suites/overview.mjs";
import * as pages from "./suites/pages.mjs";
import * as passkeys from "./suites/passkeys.mjs";
import * as plans from "./suites/plans.mjs";
import * as privacy from "./suites/privacy.mjs";
import * as registration from "./suites/registration.mjs";
import * as scans from "./suites/scans.mjs";
import * as settings from "./suites/settings.mjs";
import * as signIn from "./suites/sign-in.mjs";
import * as turnstile from "./suites/turnstile.mjs";
import * as twoFactor from "./suites/two-factor.mjs";
import * as webhook from "./suites/webhook.mjs";
import * as webhookPage from "./suites/webhook-page.mjs";
import * as words from "./suites/words.mjs";
import { World } from "./world.mjs";

describe("the portal", () => {
  const world = new World();
  before(() => world.start());
  after(() => world.stop());

  // Tests mostly wait for the browser or the service, so more of them run concurrently than there are cores.
  describe("side by side", { concurrency: 3 }, () => {
    for (const { suite } of [
      // The longest tests run first, so that the run doesn't end waiting for one of them.
      docs,
      mails,
      pages,
      firstPage,
      registration,
      signIn,
      overview,
      scans,
      apiKey,
      guard,
      namedKeys,
      settings,
      webhook,
      webhookPage,
      twoFactor,
      passkeys,
      turnstile,
      privacy,
      plans,
      keyboard,
      faults,
      words,
      description,
    ])
      suite(world);
  });

  describe("alone, because the service behind it is down for everybody", () => faults.alone(world));
});
