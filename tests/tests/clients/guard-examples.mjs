// Runs the examples of the sign-up guard as Auth0 and Better Auth do. Arguments: the folder of the examples, and an
// empty folder. Standard input: one email per line. Standard output: for each, the message that each example gave.
import { cp, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [examples, folder] = process.argv.slice(2);

/**
 * Runs the Auth0 example as Auth0's documented sample does: an event with the user and the secrets, and an `api` that
 * denies with two texts.
 */
async function auth0(email) {
  const { onExecutePreUserRegistration } = createRequire(import.meta.url)(
    join(examples, "auth0/sign-up-guard.js"),
  );
  const { RCPT_URL, RCPT_API_KEY } = process.env;
  const denied = [];
  const event = {
    user: { email },
    secrets: { RCPT_URL, RCPT_API_KEY },
    connection: { name: "Username-Password-Authentication", strategy: "auth0" },
    request: { geoip: { continentCode: "EU" }, language: "en" },
  };
  await onExecutePreUserRegistration(event, { access: { deny: (...texts) => denied.push(texts) } });
  return denied[0]?.[1] ?? null;
}

/**
 * Installs stand-ins for the modules that the Better Auth example imports, as its documented sample does, and returns
 * the example's `before` hook.
 */
async function installBetterAuth() {
  const installed = join(folder, "node_modules/better-auth");
  await mkdir(installed, { recursive: true });
  const manifest = {
    name: "better-auth",
    type: "module",
    exports: { ".": "./index.js", "./api": "./api.js" },
  };
  await writeFile(join(installed, "package.json"), JSON.stringify(manifest));
  await writeFile(join(installed, "index.js"), "export const betterAuth = (options) => ({ options });");
  await writeFile(
    join(installed, "api.js"),
    `export const createAuthMiddleware = (handler) => handler;
     export class APIError extends Error {
       constructor(status, body) { super(body.message); this.status = status; this.body = body; }
     }`,
  );
  await cp(join(examples, "better-auth/auth.mjs"), join(folder, "auth.mjs"));
  return (await import(pathToFileURL(join(folder, "auth.mjs")))).auth.options.hooks.before;
}

async function betterAuth(before, email) {
  await before({ path: "/sign-in/email", body: { email } });
  try {
    await before({ path: "/sign-up/email", body: { email, password: "p", name: "Ann" } });
    return null;
  } catch (error) {
    if (error.status !== "BAD_REQUEST") throw error;
    return error.body.message;
  }
}

const before = await installBetterAuth();
for await (const email of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify([await auth0(email), await betterAuth(before, email)]));
}
