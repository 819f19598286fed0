// A mail server that says about each recipient what its name asks for, and takes no mail.
import { once } from "node:events";
import { createServer } from "node:net";

const ANSWERS = {
  accepts: "250 2.1.5 Ok",
  full: "552 5.2.2 The mailbox is over its quota",
  blocked: "550 5.7.1 Your IP address is on our blocklist: blocked",
  greylisted: "451 4.7.1 Greylisted, please try again in 300 seconds",
  unavailable: "451 4.3.0 Temporary lookup failure",
};
const UNKNOWN = "550 5.1.1 No such user here";

export async function startMailServer() {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    socket.write("220 sandbox.test ESMTP\r\n");
    let pending = "";
    socket.on("data", (chunk) => {
      pending += chunk;
      const lines = pending.split("\r\n");
      pending = lines.pop();
      for (const line of lines) answer(socket, line);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${server.address().port}`,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function answer(socket, line) {
  const verb = line.slice(0, 4).toUpperCase();
  if (verb === "EHLO") socket.write("250-sandbox.test\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES\r\n");
  else if (verb === "RCPT") {
    const name = line.includes("@catchall.") ? "accepts" : (/<([^+@>]*)/.exec(line)?.[1] ?? "");
    socket.write(`${ANSWERS[name] ?? UNKNOWN}\r\n`);
  } else if (verb === "QUIT") socket.end("221 2.0.0 Bye\r\n");
  else socket.write("250 2.0.0 Ok\r\n");
}
