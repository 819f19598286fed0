// Constants of the build, for the type checker.

/** URL of the API without a trailing slash; empty when it is the portal's own origin. */
declare const API_URL: string;

/** Paths of the worker that reads lists, and of the modules that it loads. */
declare const LISTS_WORKER: string;
declare const LISTS_WASM: string;
declare const WORKBOOKS_WASM: string;

/** URLs of the operator's pages, and a contact address; empty if not set. */
declare const CONTACT_URL: string;
declare const CONTACT_EMAIL: string;
declare const TERMS_URL: string;
declare const STATUS_URL: string;

/** The operator's price of the Pro plan. */
declare const PRO_PRICE: string;

/** Public key of Turnstile's widget; empty if it isn't configured. */
declare const TURNSTILE_SITE_KEY: string;

/** Styles of one component: the name that the build gave to each class. */
declare module "*.module.css" {
  const classes: Readonly<Record<string, string>>;
  export default classes;
}

declare module "*.css";
