// A line to a server: a TCP proxy on a port of its own that can be cut, be slow, or go silent, as a network does that drops packets: nothing passes,
// nothing is closed, nobody is told. Knows bytes, no protocol.
import { once } from "node:events";
import { connect, createServer } from "node:net";

const later = (ms) => (ms === 0 ? undefined : new Promise((resolve) => { setTimeout(resolve, ms); }));

/** `address`: the server's, as host:port. */
export async function lineTo(address) {
  const [host, port] = address.split(":");
  const connections = new Set();
  let silent = false;
  let delayMs = 0;
  const listener = createServer((client) => {
    const server = connect({ host, port });
    const connection = { ends: [client, server], lost: silent };
    connections.add(connection);
    for (const [from, to] of [[client, server], [server, client]]) {
      let passed = Promise.resolve();
      const pass = (act) => {
        if (connection.lost) return;
        // What was sent before goes first.
        passed = passed.then(() => later(delayMs)).then(() => { if (!connection.lost) act(); });
      };
      from.on("data", (bytes) => pass(() => to.write(bytes)));
      from.on("close", () => pass(() => to.destroy()));
      from.on("error", () => { /* The close says it. */ });
    }
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    address: `127.0.0.1:${listener.address().port}`,
    /** From now on nothing passes; what is connected by the time of `mend` stays so for ever. */
    silence() {
      silent = true;
      for (const connection of connections) connection.lost = true;
    },
    /** New connections are good. */
    mend() { silent = false; },
    /** Each message takes so long from now on. */
    slow(ms) { delayMs = ms; },
    /** Closes what is connected; new connections are good. */
    cut() {
      for (const { ends } of connections) for (const end of ends) end.destroy();
      connections.clear();
    },
    end() {
      listener.close();
      for (const { ends } of connections) for (const end of ends) end.destroy();
    },
  };
}
