// The forms for guests, and other short pages, as one file for the browser.
export { default as ConfirmAddress } from "./confirm-address";
export { default as Deleted } from "./deleted";
export { default as Forgot } from "./forgot";
export { default as NotFound } from "./not-found";
export { default as Register } from "./register";
export { default as Reset } from "./reset";
export { default as SignIn } from "./sign-in";
export { default as Stop } from "./stop";
export { default as StopEmails } from "./stop-emails";
export { default as Verify } from "./verify";
