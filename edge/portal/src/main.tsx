// The browser's entry: hides a mailed token, then draws the portal.
import "./base.css";
import { hydrate, render } from "preact";
import { App } from "./app";
import { takeFromAddressBar } from "./mailed-token";
import * as session from "./session";

takeFromAddressBar();
session.followOtherTabs();
const portal = document.getElementById("portal");
if (portal === null) throw new Error("The document has no #portal");
// The build draws the guests' view. Members get their own view instead.
if (portal.dataset["drawn"] !== undefined && session.current() === undefined) hydrate(<App />, portal);
else {
  portal.replaceChildren();
  render(<App />, portal);
}
