// A real nginx before the binary: the example of docs/operations.md as it stands there, the ways in which others name the host, and a path.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { chromium } from "@playwright/test";
import WebSocket from "ws";
import { bearer, PATIENCE_MS, start, until, within } from "../clients/server.mjs";

const HOST = "feed.example.org";
const guide = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
const [, EXAMPLE] = /^```nginx file=tidefeed\.conf\n([\s\S]*?)^```$/m.exec(guide);
/** Of the example, what stands in `location / { .. }`. */
const [, LOCATION] = /location \/ \{\n([\s\S]*?)\n {4}\}/.exec(EXAMPLE);

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

/** An nginx with what `configure(port, folder)` gives as the content of its `http`; its port. */
async function nginx(configure) {
  const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-nginx-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const key = ["-keyout", path.join(folder, "key.pem"), "-out", path.join(folder, "cert.pem")];
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", `/CN=${HOST}`, ...key], { stdio: "ignore" });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`);
  const user = process.getuid() === 0 ? "user root;" : "";
  writeFileSync(path.join(folder, "nginx.conf"), `${user} daemon off; pid ${folder}/pid; error_log stderr; worker_processes 1; events {}
http { access_log off; ${temporary.join(" ")} ${configure(port, folder)} }`);
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  const proxy = spawn("nginx", ["-p", folder, "-c", path.join(folder, "nginx.conf"), "-e", "stderr"], { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  proxy.stderr.on("data", (part) => { said += part; });
  proxy.on("error", (error) => { said += error.message; });
  const ended = once(proxy, "exit");
  after(async () => {
    proxy.kill();
    await ended;
  });
  await until("nginx listens", async () => {
    if (proxy.exitCode !== null || proxy.pid === undefined) throw new Error(`nginx does not run. scripts/install-servers.sh installs it.\n${said}`);
    return fetch(`http://127.0.0.1:${port}/`).then(() => true, (error) => error.cause?.code !== "ECONNREFUSED");
  });
  return port;
}

/** The example for this node, with `more` in its server. */
const exampled = (node, more = "") => nginx((port, folder) => {
  const replaced = [
    ["listen 443", `listen 127.0.0.1:${port}`], ["server 127.0.0.1:8080;", `server ${node.address};`],
    [`/etc/ssl/certs/${HOST}.pem`, `${folder}/cert.pem`], [`/etc/ssl/private/${HOST}.key`, `${folder}/key.pem`], ["    location / {", `${more}    location / {`],
  ];
  return replaced.reduce((text, [from, to]) => {
    assert.ok(text.includes(from), `the example has no ${from}`);
    return text.replace(from, to);
  }, EXAMPLE);
});

const TRUSTING = { "server.trusted_proxies": "[\"127.0.0.1\"]", "auth.registrations_per_hour": 0 };

/** The status of an attempt to open a WebSocket; 101 if it opens. */
async function opens(url, headers) {
  const socket = new WebSocket(url, "graphql-transport-ws", { headers, rejectUnauthorized: false });
  const status = await within(`an answer of ${url}`, new Promise((resolve) => {
    socket.on("open", () => resolve(101));
    socket.on("unexpected-response", (_request, { statusCode }) => resolve(statusCode));
    socket.on("error", (error) => resolve(error.message));
  }));
  socket.terminate();
  return status;
}

function get(url, headers = {}) {
  return new Promise((resolve, reject) => {
    https.get(url, { headers, rejectUnauthorized: false }, (response) => {
      resolve({ status: response.statusCode, headers: response.headers, response });
    }).on("error", reject);
  });
}

/** A page of Chromium that finds the host on this machine. */
async function open(url, person) {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--host-resolver-rules=MAP ${HOST} 127.0.0.1`];
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
  after(() => browser.close());
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  page.setDefaultTimeout(PATIENCE_MS);
  await page.addInitScript((tokens) => { localStorage.setItem("tidefeed.session", tokens); }, JSON.stringify(person.tokens));
  await page.goto(url);
  await page.getByTestId("live").filter({ hasText: "Live" }).waitFor();
  return page;
}

const node = await start({ ...TRUSTING, "api.public_pages": true });
const ann = await node.register("ann");

test("an nginx as operations.md has it serves the page, and its live socket", async () => {
  const port = await exampled(node);
  const [page, address] = [`https://${HOST}:${port}`, `127.0.0.1:${port}`];
  const statuses = ["", "graphiql/", "schema.graphql", "healthz", "readyz", "metrics"].map(async (file) => (await get(`https://${address}/${file}`)).status);
  assert.deepEqual(await Promise.all(statuses), [200, 200, 200, 404, 404, 404]);
  const host = `${HOST}:${port}`;
  const asked = ["https://evil.example", `https://${HOST}:1`, page].map((origin) => opens(`wss://${address}/graphql/ws`, { host, origin }));
  assert.deepEqual(await Promise.all(asked), [403, 403, 101]);
  const query = encodeURIComponent("subscription { newFeed { ... on EntryAdded { timelineEdge { node { text } } } } }");
  const { response } = await get(`https://${address}/graphql?query=${query}`, { accept: "text/event-stream", ...bearer(ann.token) });
  let heard = "";
  response.on("data", (part) => { heard += part; });
  await until("an event comes through at once", async () => {
    await node.publish(ann, "through nginx");
    return heard.includes("through nginx");
  });
  response.destroy();
  const shown = await open(page, ann);
  await node.publish(ann, "seen on the page");
  await shown.getByText("seen on the page").waitFor();
});

/** The status of a POST of a service, and the lines of its answer. */
function send(url, key, text) {
  return within(`an answer of ${url}`, new Promise((resolve, reject) => {
    const request = https.request(url, { method: "POST", headers: bearer(key), rejectUnauthorized: false }, async (response) => {
      resolve({ status: response.statusCode, lines: (await response.toArray()).join("").trimEnd().split("\n") });
    });
    request.on("error", reject);
    request.end(text);
  }));
}

test("through nginx a service loads a file, and sends a bulk", async () => {
  const home = mkdtempSync(path.join(tmpdir(), "tidefeed-proxied-"));
  const settings = { "store.url": `sqlite://${path.join(home, "feed.db")}` };
  const own = await start({ ...TRUSTING, ...settings });
  after(() => rmSync(home, { recursive: true, force: true, maxRetries: 50 }));
  const add = ["service", "add", "backend", "--scope", "import,users,contents,act_as"];
  const key = execFileSync(path.resolve(process.env.TIDEFEED_BIN), add, { env: { TIDEFEED__STORE__URL: settings["store.url"] } }).toString().trim();
  const place = `https://127.0.0.1:${await exampled(own)}`;
  const contents = Array.from({ length: 3000 }, (_, number) => (
    { type: "content", data: { externalId: `p-${number}`, author: "mara", text: `Post ${number}`, createdAt: "2020-01-01T00:00:00Z" } }));
  const file = [{ type: "header", data: { format: "tidefeed", version: 1 } }, { type: "user", data: { externalId: "mara" } }, ...contents];
  const text = file.map((line) => `${JSON.stringify(line)}\n`).join("");
  assert.ok(text.length > 256 * 1024, "more than another body may have");
  const loaded = await send(`${place}/import`, key, text);
  assert.deepEqual([loaded.status, JSON.parse(loaded.lines.at(-1)).summary?.records], [200, { user: 1, content: contents.length }], JSON.stringify(loaded));
  const lines = contents.slice(0, 100).map((_, number) => JSON.stringify({ op: "publishContent", as: "ext:mara", data: { text: `Said ${number}` } }));
  const sent = await send(`${place}/bulk`, key, lines.join("\n"));
  assert.deepEqual([sent.status, sent.lines.length, JSON.parse(sent.lines.at(-1))], [200, 101, { summary: { lines: 100, outcomes: { done: 100 } } }]);
  assert.equal((await send(`${place}/bulk`, key, text)).status, 413, "nginx refuses what is longer, but for a file");
});

test("the page's own socket opens however nginx names the host", async () => {
  const NAMES = {
    default: "", host: "proxy_set_header Host $host;", tls_before: "proxy_set_header Host $host:80;", whole: "proxy_set_header Host $http_host;",
    forwarded: "proxy_set_header X-Forwarded-Host $http_host;",
  };
  const upgrade = "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;";
  const before = (address) => nginx((port) => {
    const locations = Object.entries(NAMES).map(([name, line]) => `location /${name}/ { proxy_pass http://${address}/; ${upgrade} ${line} }`);
    return `server { listen 127.0.0.1:${port}; ${locations.join("\n")} }`;
  });
  const [trusting, other] = [await before(node.address), await before((await start()).address)];
  const all = async (port, origin) => {
    const host = new URL(origin).host;
    const asked = Object.keys(NAMES).map(async (name) => [name, await opens(`ws://127.0.0.1:${port}/${name}/graphql/ws`, { host, origin })]);
    return Object.fromEntries(await Promise.all(asked));
  };
  const [usual, elsewhere] = [`https://${HOST}`, `https://${HOST}:8443`];
  const [yes, no] = [101, 403];
  assert.deepEqual(await all(trusting, usual), { default: no, host: yes, tls_before: yes, whole: yes, forwarded: yes });
  assert.deepEqual(await all(trusting, elsewhere), { default: no, host: yes, tls_before: no, whole: yes, forwarded: yes });
  assert.deepEqual(await all(other, usual), { default: no, host: yes, tls_before: yes, whole: yes, forwarded: no }, "of a proxy that is not trusted");
  assert.deepEqual(await all(other, elsewhere), { default: no, host: no, tls_before: no, whole: yes, forwarded: no }, "of a proxy that is not trusted");
});

test("the page is live below a path that nginx strips", async () => {
  const port = await exampled(node, `    location /feed/ {\n${LOCATION.replace("http://tidefeed;", "http://tidefeed/;")}\n    }\n`);
  const place = `https://${HOST}:${port}/feed/`;
  const moved = await get(`https://127.0.0.1:${port}/feed/graphiql?query=%7Bviewer%7Bid%7D%7D`);
  assert.deepEqual([moved.status, moved.headers.location], [307, "graphiql/?query=%7Bviewer%7Bid%7D%7D"]);
  await node.publish(ann, "below a path");
  const page = await open(place, ann);
  const faults = [];
  page.on("response", (response) => { if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`); });
  page.on("pageerror", (error) => faults.push(error.message));
  await page.reload();
  await page.getByText("below a path").first().waitFor();
  await page.getByText("below a path").first().click();
  await page.getByTestId("thread-post").waitFor();
  assert.ok(page.url().startsWith(`${place}post/C_`), page.url());
  await page.reload();
  await page.getByTestId("thread-post").waitFor();
  await page.getByTestId("nav-timeline").click();
  await page.getByText("below a path").first().waitFor();
  await page.waitForFunction(() => [...document.images].every((image) => image.complete && image.naturalWidth > 0));
  await page.getByTestId("nav-graphiql").click();
  await page.waitForURL(`${place}graphiql/`);
  await until("GraphiQL answers", async () => {
    await page.getByRole("button", { name: /Execute query/ }).click();
    // A click before the editor has loaded does nothing.
    return page.locator(".result-window", { hasText: "below a path" }).waitFor({ timeout: 2_000 }).then(() => true, () => false);
  });
  await page.getByRole("link", { name: "Tidefeed" }).click();
  await page.getByTestId("live").filter({ hasText: "Live" }).waitFor();
  assert.equal(page.url(), place);
  assert.deepEqual(faults, []);
});
