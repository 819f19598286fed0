// Offers of other plans: at each limit, and in the settings.
import assert from "node:assert/strict";
import { useUp } from "./overview.mjs";

const OFFER = {
  plan: "free",
  until: "2027-01-31T12:00:00Z",
  reference: "acct_0123456789abcdef",
  checkouts: [{ plan: "pro", url: "https://buy.example/pro?client_reference_id=acct_0123456789abcdef" }],
};

/** Replaces the service's offer of plans, which its operator configures. */
const offers = (reader, offer) =>
  reader.page.route("**/v1/me/plan", (route) => route.fulfill({ json: offer }));

/** Uses up the account's checks and scans of the day. */
async function useUpAll(stack, email) {
  await useUp(stack, email);
  await stack.sql(
    "UPDATE accounts SET scans_day = unixepoch() / 86400, scans_charged = 1 WHERE email = ?",
    email,
  );
}

export function suite(world) {
  world.test("every limit of the plan has a link to the larger one", async (reader) => {
    const account = await world.account();
    await useUpAll(reader.stack, account.email);
    await offers(reader, OFFER);
    await reader.enter(account);
    for (const path of ["/overview", "/scans", "/settings/plan"]) {
      await reader.open(path);
      const link = reader.page.getByRole("link", { name: "Switch to the pro plan" }).first();
      await link.waitFor();
      assert.equal(await link.getAttribute("href"), OFFER.checkouts[0].url);
      assert.equal(await link.getAttribute("rel"), "noreferrer");
      await reader.accessible(`${path} with an offer`);
    }
    await reader.sees(/plan until January 31, 2027, and on the free plan after that/);
  });

  world.test("where nothing can be bought, no link leads to nowhere", async (reader) => {
    await offers(reader, { ...OFFER, until: null, checkouts: [] });
    await reader.enter(await world.account(), "/settings/plan");
    await reader.sees("Price on request");
    await reader.page.getByRole("link", { name: "Compare the plans" }).waitFor();
    assert.equal(await reader.page.getByRole("link", { name: /^Switch to/ }).count(), 0);
  });
}
