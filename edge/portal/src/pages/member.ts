// The pages of a member, as one file for the browser.
export { default as ApiKey } from "./api-key";
export { default as Guard } from "./guard";
export { default as Overview } from "./overview";
export { NotificationSettings, PlanSettings, SecuritySettings, Settings } from "./settings";
