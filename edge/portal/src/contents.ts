// Components of the pages. The entry includes the home and privacy pages. The others are in groups:
// opening a page fetches its group, which the page's document preloads.
import type { ComponentType } from "preact";
import type { PageName } from "./pages";
import Home from "./pages/home";
import Privacy from "./pages/privacy";

export type Content = { here: ComponentType } | { load: () => Promise<ComponentType> };

const guest = () => import("./pages/guest");
const member = () => import("./pages/member");
const scans = () => import("./pages/scans");
const docs = () => import("./pages/docs");

export const CONTENTS: Record<PageName, Content> = {
  home: { here: Home },
  privacy: { here: Privacy },
  register: { load: async () => (await guest()).Register },
  "sign-in": { load: async () => (await guest()).SignIn },
  verify: { load: async () => (await guest()).Verify },
  forgot: { load: async () => (await guest()).Forgot },
  reset: { load: async () => (await guest()).Reset },
  "confirm-address": { load: async () => (await guest()).ConfirmAddress },
  stop: { load: async () => (await guest()).Stop },
  "stop-emails": { load: async () => (await guest()).StopEmails },
  overview: { load: async () => (await member()).Overview },
  scans: { load: async () => (await scans()).default },
  guard: { load: async () => (await member()).Guard },
  "api-key": { load: async () => (await member()).ApiKey },
  settings: { load: async () => (await member()).Settings },
  security: { load: async () => (await member()).SecuritySettings },
  notifications: { load: async () => (await member()).NotificationSettings },
  plan: { load: async () => (await member()).PlanSettings },
  docs: { load: async () => (await docs()).default },
  start: { load: async () => (await docs()).Start },
  sandbox: { load: async () => (await docs()).Sandbox },
  webhooks: { load: async () => (await docs()).Webhooks },
  deleted: { load: async () => (await guest()).Deleted },
  "not-found": { load: async () => (await guest()).NotFound },
};
