// Compares the directory of addresses, in the first database, with the accounts of all databases. A restore to an earlier
// minute may have parted them.
import { statement } from "./databases.mjs";

// Rows per query; their ids take a megabyte at most.
const PAGE = 20_000;
// Rows that one statement inserts, from one parameter of at most two megabytes.
const MENDED_AT_ONCE = 500;

/** Rows come in the order of the key. */
async function* pages(databases, database, key, columns, from) {
  for (let after = "", rows; rows === undefined || rows.length === PAGE; after = rows.at(-1)?.[key]) {
    const sql = `SELECT ${columns} FROM ${from} AND ${key} > ?1 ORDER BY ${key} LIMIT ${PAGE}`;
    rows = await databases.run(database, [statement(sql, after)]);
    yield* rows;
  }
}

/** Hashes under different secrets can't be compared. */
function differs(one, other) {
  const [[kid], [otherKid]] = [one.split("."), other.split(".")];
  return kid === otherKid && one !== other;
}

/** A row for each account that can't be signed in to, and for each address of no account. */
export async function compare(databases, isMending) {
  const [first] = databases.names;
  const [named, places] = [new Map(), new Map()];
  const entries = "addresses WHERE confirmed = 1";
  for await (const row of pages(databases, first, "address_hash", "address_hash, account_id", entries)) {
    // An account has two rows while its address is being changed.
    named.set(row.account_id, [row.address_hash, ...(named.get(row.account_id) ?? [])]);
    places.set(row.address_hash, row.account_id);
  }
  const [wrong, lost] = [[], []];
  for (const database of databases.names) {
    const columns = "id, email, address_hash";
    for await (const account of pages(databases, database, "id", columns, "accounts WHERE confirmed_at IS NOT NULL")) {
      const { id, email, address_hash } = account;
      const hashes = named.get(id);
      if (named.delete(id)) {
        if (hashes.every((hash) => differs(hash, address_hash))) wrong.push({ id, database, email, directory: "has another address for it" });
        continue;
      }
      const other = places.get(address_hash);
      if (other === undefined) lost.push(account);
      wrong.push({ id, database, email, directory: other ? `names ${other}` : isMending ? "entered" : "has lost it" });
    }
  }
  // No account has these ids. If an account was just deleted, the next scheduled run removes its entry.
  for (const id of named.keys()) wrong.push({ id, database: "-", email: "-", directory: "names no account" });
  for (let from = 0; isMending && from < lost.length; from += MENDED_AT_ONCE) {
    const rows = lost.slice(from, from + MENDED_AT_ONCE).map(({ address_hash, id }) => [address_hash, id]);
    // If somebody else has registered the address but not confirmed it, the existing account wins.
    const sql = `INSERT INTO addresses (address_hash, account_id, confirmed, claimed_at)
      SELECT value ->> 0, value ->> 1, 1, unixepoch() FROM json_each(?1) WHERE true
      ON CONFLICT (address_hash) DO UPDATE
      SET account_id = excluded.account_id, confirmed = 1 WHERE addresses.confirmed = 0`;
    await databases.run(first, [statement(sql, JSON.stringify(rows))]);
  }
  return wrong;
}
