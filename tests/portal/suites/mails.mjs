// Emails as rendered in a browser: wide and narrow, light and dark.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text as all } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { PASSWORD } from "../world.mjs";

const READ = fileURLToPath(new URL("../read-mails.py", import.meta.url));

export function suite(world) {
  let made;
  const mailsOnce = () => (made ??= allMails(world));

  world.test(
    "a mail program reads every email without a defect, with the same links in both parts",
    async () => {
      const mails = await mailsOnce();
      const program = spawn("python3", [READ], { stdio: ["pipe", "pipe", "inherit"] });
      program.stdin.end(JSON.stringify(mails));
      const read = JSON.parse(await all(program.stdout));
      assert.equal(read.length, mails.length);
      for (const [at, { to, subject, text, link }] of mails.entries()) {
        const { text_links, html_links, ...rest } = read[at];
        assert.deepEqual(rest, {
          defects: [],
          types: ["multipart/alternative", "text/plain", "text/html"],
          sender: "rcpt",
          recipients: [to],
          subject,
          text: text.replace(/\n+$/, ""),
        });
        assert.deepEqual(html_links, text_links, subject);
        assert.ok(text_links.includes(link), subject);
      }
    },
  );

  world.test("a mailbox opts out of what others cause by the link in the email", async (reader) => {
    const email = world.newEmail();
    const forgot = () => reader.stack.api("POST", "/v1/auth/forgot-password", { body: { email } });
    await forgot();
    const { text } = await reader.stack.mail(email);
    const link = text.match(/^http.*\/stop-emails\?token=.*$/m)[0];
    await reader.open(link.slice(0, -1));
    await reader.reads("Stop these emails?");
    assert.equal(reader.page.url(), `${reader.stack.url}/stop-emails`, "the token has left the address bar");
    await reader.press("Stop these emails");
    await reader.reads("This link is incomplete");
    await reader.accessible("half a link");
    await reader.open(link);
    await reader.reads("Stop these emails?");
    await reader.accessible("stop emails");
    await reader.press("Stop these emails");
    await reader.reads("You won’t get these emails for 30 days");
    await reader.accessible("emails stopped");
  });

  world.test(
    "every email is readable, loads nothing, and has one button for its one link",
    async (reader) => {
      for (const { subject, text, html, link } of await mailsOnce()) {
        await showMail(reader.page, reader.stack, html);
        const heading = reader.page.getByRole("heading", { level: 1 });
        assert.equal(await heading.innerText(), subject);
        assert.equal(await reader.page.title(), subject);
        const buttons = await reader.page
          .locator("main a")
          .evaluateAll((links) => links.map(({ href }) => href));
        assert.deepEqual(buttons, [link], subject);
        const shown = await reader.page.locator("main").innerText();
        for (const paragraph of text.split("\n-- \n")[0].split("\n\n").slice(0, -1))
          for (const line of paragraph.split("\n"))
            assert.ok(shown.includes(line.replace(/^(When|Browser|Country): /, "")), `${subject}: ${line}`);
        for (const width of [320, 900]) {
          await reader.page.setViewportSize({ width, height: 700 });
          await reader.inBothSchemes(`${subject} at ${width}`);
        }
      }
    },
  );
}

/** Shows the HTML of an email at a URL of the service, without the portal's policy. */
export async function showMail(page, stack, html) {
  const url = `${stack.url}/shown-mail`;
  await page.unroute(url);
  await page.route(url, (route) => route.fulfill({ contentType: "text/html; charset=utf-8", body: html }));
  await page.goto(url);
}

/** Returns emails of common kinds, none of which requires waiting for hours or days. */
export async function allMails(world) {
  const { stack } = world;
  const email = world.newEmail();
  const post = (path, body) => stack.api("POST", `/v1/auth/${path}`, { body });
  await post("register", { email, password: PASSWORD });
  await post("register", { email, password: PASSWORD });
  await post("forgot-password", { email });
  const strangers = [await stack.mail(email, 1), await stack.mail(email, 2), await stack.mail(email, 3)];
  const account = await world.securedAccount();
  const headers = { Authorization: `Bearer ${account.token}` };
  await post("register", { email: account.email, password: PASSWORD });
  await post("forgot-password", { email: account.email });
  const replace = { password: PASSWORD, totp_code: account.recoveryCodes[0] };
  const replaced = await stack.api("POST", "/v1/auth/totp/recovery-codes", { headers, body: replace });
  await stack.mail(account.email, 6);
  const [code] = replaced.body.recovery_codes;
  const remove = { password: PASSWORD, totp_code: code };
  assert.equal((await stack.api("DELETE", "/v1/me", { headers, body: remove })).status, 204);
  const owners = [];
  // Confirmation, two-factor on, two requested emails, a used code, replaced codes, deletion.
  for (let nth = 1; nth <= 7; nth++) owners.push(await stack.mail(account.email, nth));
  const titles = owners.map(({ subject }) => subject);
  for (const subject of ["Your recovery codes have been replaced", "Your account has been deleted"])
    assert.ok(titles.includes(subject), titles.join());
  return [...strangers, ...owners];
}
