// Sets rcpt plans as Stripe sells them (docs/operating/customers.md, "Sell a plan"). An example: run it where Stripe reaches it.
//
// Stripe side: a payment link of each plan, whose URL is in CHECKOUT_URLS as
// `pro=https://buy.stripe.com/…?client_reference_id={reference}`, and a webhook endpoint that sends
// checkout.session.completed and customer.subscription.created, .updated and .deleted here.
//
//   STRIPE_WEBHOOK_SECRET  whsec_… of that endpoint
//   OPERATOR_SECRET        a value of the Worker's ring of this name
//   RCPT_URL               such as https://rcpt.example.net
//   PLANS                  plan of each price, as JSON: {"price_1Pro": "pro"}
//   STORE                  file that remembers which customer is which account (default customers.json)
//   PORT                   where to listen (default 8080)
import { createHmac, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const { STRIPE_WEBHOOK_SECRET, OPERATOR_SECRET, RCPT_URL, STORE = "customers.json", PORT = "8080" } = process.env;
const PLANS = JSON.parse(process.env.PLANS);
const key = Buffer.from(OPERATOR_SECRET, "base64url");
/** Time for a renewal to arrive after the period it renews. */
const GRACE_S = 3 * 24 * 3600;
const TOLERANCE_S = 5 * 60;

/** By Stripe's customer: `reference` of the account, and `waiting`, an order that came before it was known. */
const customers = existsSync(STORE) ? JSON.parse(readFileSync(STORE, "utf8")) : {};

function save() {
  writeFileSync(`${STORE}.new`, JSON.stringify(customers));
  renameSync(`${STORE}.new`, STORE);
}

/** Stripe-Signature: t=seconds,v1=hex,… over `t.body`. */
function isStripes(header = "", body) {
  const pairs = header.split(",").map((pair) => pair.split("="));
  const at = pairs.find(([name]) => name === "t")?.[1];
  if (!(Math.abs(Date.now() / 1000 - Number(at)) <= TOLERANCE_S)) return false;
  const expected = createHmac("sha256", STRIPE_WEBHOOK_SECRET).update(`${at}.${body}`).digest();
  return pairs.some(([name, value]) => {
    const given = Buffer.from(name === "v1" ? value : "", "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const date = (seconds) => new Date(seconds * 1000).toISOString();

/** Plan and end of a subscription. */
function orderOf({ id, type, created, data: { object: subscription } }) {
  const [item] = subscription.items.data;
  const isPaid = ["active", "trialing", "past_due"].includes(subscription.status);
  const occurred_at = date(created);
  if (type.endsWith(".deleted") || !isPaid) return { id, plan: "free", until: null, occurred_at };
  const until = date(item.current_period_end + GRACE_S);
  return { id, plan: PLANS[item.price.id], until, occurred_at };
}

/** A call in the form of Standard Webhooks. Stripe sends an event again unless this program answers 2xx. */
async function setPlan(reference, { id, ...order }) {
  const body = JSON.stringify({ reference, ...order });
  const at = Math.floor(Date.now() / 1000);
  const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": `${at}`, "webhook-signature": `v1,${signature}` };
  const reply = await fetch(`${RCPT_URL}/v1/operator/plans`, { method: "POST", headers, body });
  if (!reply.ok) throw new Error(`rcpt: ${reply.status} ${await reply.text()}`);
}

async function take(event) {
  const { customer, client_reference_id: reference } = event.data.object;
  const known = (customers[customer] ??= {});
  if (event.type === "checkout.session.completed") known.reference = reference;
  else if (event.type.startsWith("customer.subscription.")) known.waiting = orderOf(event);
  else return;
  save();
  if (!known.reference || !known.waiting) return;
  const order = known.waiting;
  await setPlan(known.reference, order);
  if (known.waiting === order) delete known.waiting;
  save();
}

createServer(async (request, response) => {
  try {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts).toString();
    const genuine = isStripes(request.headers["stripe-signature"], body);
    if (genuine) await take(JSON.parse(body));
    response.writeHead(genuine ? 200 : 400).end();
  } catch (error) {
    console.error(error.message);
    response.writeHead(500).end();
  }
}).listen(Number(PORT), () => console.log(`listening on port ${PORT}`));
