// Passkeys with Chromium's virtual authenticator: added, used to sign in, removed.
import assert from "node:assert/strict";
import { PASSWORD } from "../world.mjs";

const PHONE = { viewport: { width: 360, height: 740 } };

/** Adds a virtual authenticator (fingerprint reader) to this window. */
async function withDevice({ context, page }, options = {}) {
  const session = await context.newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      ...options,
    },
  });
  return {
    credentials: async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
  };
}

/** Fills fields of the open dialog, because the page below has fields of the same names. */
async function fillDialog(reader, fields) {
  const dialog = reader.page.getByRole("dialog");
  for (const [label, value] of Object.entries(fields))
    await dialog.getByLabel(label, { exact: true }).fill(value);
}

async function addPasskey(reader, name, code) {
  await reader.press("Add a passkey…");
  await fillDialog(reader, {
    "Passkey name": name,
    Password: PASSWORD,
    ...(code !== undefined && { Code: code }),
  });
  await reader.press("Add passkey");
  await reader.button(`Remove passkey ${name}`).waitFor();
}

async function signOut(reader) {
  await reader.page.evaluate(() => sessionStorage.clear());
  await reader.open("/sign-in");
  await reader.reads("Sign in");
}

async function signsIn(reader) {
  await reader.press("Use a passkey");
  await reader.reads("Overview");
}

export function suite(world) {
  for (const [width, options] of [
    [1280, {}],
    [360, PHONE],
  ])
    world.test(
      `a passkey is added, signs in and is removed, ${width} px wide`,
      async (reader) => {
        const account = await world.account();
        const device = await withDevice(reader);
        await reader.enterBySigningIn(account, "/settings/security");
        await reader.sees("You have no passkeys.");
        await reader.press("Add a passkey…");
        await reader.inBothSchemes("dialog for a passkey");
        await reader.press("Add passkey");
        await reader.sees("Give it a name.");
        await reader.accessible("a passkey without a name");
        await fillDialog(reader, { "Passkey name": "my laptop", Password: "not the password" });
        await reader.press("Add passkey");
        await reader.sees("That isn’t your current password");
        assert.deepEqual(await device.credentials(), [], "nothing was made before the password was right");
        await reader.press("Cancel");
        await addPasskey(reader, "my laptop");
        await reader.sees("not used yet");
        await reader.inBothSchemes("a passkey");
        const [made] = await device.credentials();
        assert.equal(made.rpId, "localhost");
        assert.ok(made.isResidentCredential);
        const [{ id }] = await reader.stack.sql("SELECT id FROM accounts WHERE email = ?1", account.email);
        assert.equal(Buffer.from(made.userHandle, "base64").toString("hex"), id);

        // Adds a passkey on a device that already has a passkey for the account.
        await reader.press("Add a passkey…");
        await fillDialog(reader, { "Passkey name": "again", Password: PASSWORD });
        await reader.press("Add passkey");
        await reader.sees("This device has a passkey for your account already.");
        await reader.press("Cancel");

        await signOut(reader);
        await reader.inBothSchemes("sign-in with a passkey");
        await signsIn(reader);
        await reader.open("/settings/security");
        await reader.sees("last used");
        await reader.press("Remove passkey my laptop");
        await reader.accessible("asked before a passkey is removed");
        await reader.page
          .getByRole("dialog")
          .getByRole("button", { name: "Remove passkey", exact: true })
          .click();
        await reader.sees("You have no passkeys.");
        await signOut(reader);
        await reader.press("Use a passkey");
        await reader.sees("This passkey didn’t work");
        await reader.accessible("a refused passkey");
      },
      options,
    );

  world.test(
    "a device that doesn’t verify its owner needs a code, and a person may decline",
    async (reader) => {
      const account = await world.securedAccount();
      await withDevice(reader);
      await reader.signIn(account, "/sign-in?next=/settings/security");
      await reader.fill({ Code: await account.authenticator.code() });
      await reader.press("Sign in");
      await reader.arrivesAt("/settings/security");
      await reader.settles();
      await addPasskey(reader, "key", await account.authenticator.code());
      await signOut(reader);
      // A verified passkey counts as two factors: no code is required.
      await signsIn(reader);
      await signOut(reader);
      // Chromium's virtual device always or never verifies its owner, so the response is simulated (server: `T account
      // passkeys`).
      const unverified = { code: "totp_required", detail: "A code is required." };
      await reader.page.route(
        "**/v1/auth/passkeys/sign-in",
        (route) => route.fulfill({ status: 401, json: unverified }),
        { times: 1 },
      );
      await reader.press("Use a passkey");
      await reader.reads("Two-factor code");
      await reader.sees("Your passkey is right. One more step.");
      await reader.fill({ Code: await account.authenticator.code() });
      await reader.press("Sign in");
      await reader.reads("Overview");
    },
  );
}
