// Runs in place of the package in this folder, which lacks the generated part.
const line =
  "This folder is the source of rcpt-client, without what is generated from the API's description. " +
  "Run `make clients` in the repository, and install the .tgz that it writes into target/clients.";

if (process.env.npm_lifecycle_event === "prepare") {
  console.error(line);
  process.exit(1);
}
throw new Error(line);
