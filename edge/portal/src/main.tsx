import { render } from "preact";
import { App } from "./app";
import { takeFromAddressBar } from "./mailed-token";

takeFromAddressBar();
const portal = document.getElementById("portal")!;
// What stood there for readers without JavaScript.
portal.replaceChildren();
render(<App />, portal);
