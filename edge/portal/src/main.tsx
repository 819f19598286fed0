// The browser's entry: takes a mailed token out of sight, then draws the portal.
import "./base.css";
import { hydrate, render } from "preact";
import { App } from "./app";
import { takeFromAddressBar } from "./mailed-token";
import * as session from "./session";

takeFromAddressBar();
session.followOtherTabs();
const portal = document.getElementById("portal");
if (portal === null) throw new Error("The document has no #portal");
// What the build drew is what a guest sees. For members, something else is drawn in its place.
if (portal.dataset["drawn"] !== undefined && session.current() === undefined) hydrate(<App />, portal);
else {
  portal.replaceChildren();
  render(<App />, portal);
}
