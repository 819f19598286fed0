// An authenticator app: RFC 6238 with SHA-1, six digits, 30 seconds.
import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const PERIOD = 30;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

export class Authenticator {
  constructor(base32) {
    this.secret = fromBase32(base32);
    this.lastStep = 0;
  }

  /** A code that was not used before: each works once, and one step of drift is accepted. */
  async code() {
    for (;;) {
      const now = Math.floor(Date.now() / 1000 / PERIOD);
      const step = Math.max(this.lastStep + 1, now);
      if (step <= now + 1) {
        this.lastStep = step;
        return codeAt(this.secret, step);
      }
      await sleep(500);
    }
  }

  /** A code that is certainly wrong now. */
  async wrongCode() {
    const now = Math.floor(Date.now() / 1000 / PERIOD);
    const near = [-2, -1, 0, 1, 2].map((drift) => codeAt(this.secret, now + drift));
    return ["000000", "111111", "222222", "333333", "444444", "555555"].find((code) => !near.includes(code));
  }
}

function codeAt(secret, step) {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac("sha1", secret).update(counter).digest();
  const offset = hash.at(-1) & 0xf;
  return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

function fromBase32(text) {
  const bits = [...text.replace(/[ =]/g, "").toUpperCase()]
    .map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  return Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
}
