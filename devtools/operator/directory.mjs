// Compares the directory of addresses, in the first database, with the accounts of all databases. A restore to an earlier
// minute may have parted them.
import { statement } from "./databases.mjs";

// Rows per query; their ids take a megabyte at most.
const PAGE = 20_000;
// Accounts that one call of the Worker enters.
const ENTERED_AT_ONCE = 50;

/** Rows come in the order of the key. */
async function* pages(databases, database, key, columns, from) {
  for (let after = "", rows; rows === undefined || rows.length === PAGE; after = rows.at(-1)?.[key]) {
    const sql = `SELECT ${columns} FROM ${from} AND ${key} > ?1 ORDER BY ${key} LIMIT ${PAGE}`;
    rows = await databases.run(database, [statement(sql, after)]);
    yield* rows;
  }
}

/**
 * A row for each account that can't be signed in to, and for each address of no account. When mending, the latter go;
 * `enter` has the rest of it.
 */
export async function compare(databases, isMending) {
  const [first] = databases.names;
  const [named, places] = [new Map(), new Map()];
  // An account whose address is entered may follow in a moment.
  const settled = "directory WHERE account_id NOT IN (SELECT account_id FROM registrations WHERE is_entered = 1)";
  for await (const { address, email, account_id } of pages(databases, first, "address", "address, email, account_id", settled)) {
    // An account has two rows while its address is being changed.
    named.set(account_id, [email.toLowerCase(), ...(named.get(account_id) ?? [])]);
    places.set(email.toLowerCase(), account_id);
  }
  const wrong = [];
  for (const database of databases.names) {
    for await (const { id, email } of pages(databases, database, "id", "id, email", "accounts WHERE deleted_at IS NULL")) {
      const addresses = named.get(id);
      named.delete(id);
      if (addresses?.includes(email.toLowerCase())) continue;
      const other = places.get(email.toLowerCase());
      const directory = other ? `names ${other}` : addresses ? "has another address for it" : "has lost it";
      wrong.push({ id, database, email, directory });
    }
  }
  const nobody = [...named.keys()];
  if (isMending && nobody.length > 0) {
    const sql = "DELETE FROM directory WHERE account_id IN (SELECT value FROM json_each(?1))";
    await databases.run(first, [statement(sql, JSON.stringify(nobody))]);
  }
  for (const id of nobody) wrong.push({ id, database: "-", email: "-", directory: isMending ? "named no account" : "names no account" });
  return wrong;
}

/** Has the Worker enter these accounts where their address is free: `call` sends it their ids. */
export async function enter(wrong, call) {
  const accounts = wrong.filter(({ database }) => database !== "-");
  for (let from = 0; from < accounts.length; from += ENTERED_AT_ONCE) {
    const some = accounts.slice(from, from + ENTERED_AT_ONCE);
    const { entered } = await call(some.map(({ id }) => id));
    for (const row of some) if (entered.includes(row.id)) row.directory = "entered";
  }
}
