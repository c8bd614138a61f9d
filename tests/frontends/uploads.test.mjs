// The guide's pictures from the reader's device: a page in Chromium, the product's backend, which signs, and a store that speaks S3.
import { chromium } from "@playwright/test";
import { build } from "esbuild";
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import S3rver from "s3rver";
import { PATIENCE_MS, start } from "../clients/server.mjs";
import { fileOf, moduleOf } from "./guide.mjs";

/** 2 by 3 pixels. */
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAC0lEQVR4nGNggAIAAA8AAQ8g2GcAAAAASUVORK5CYII=", "base64");
const KEYS = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };
const CORS = `<CORSConfiguration><CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>PUT</AllowedMethod><AllowedHeader>*</AllowedHeader></CORSRule></CORSConfiguration>`;
const MAIN = (composer) => `import { createTidefeed, memoryStore } from "@tidefeed/client";
import { TidefeedProvider } from "@tidefeed/react";
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { Composer } from ${JSON.stringify(composer)};
const { url, tokens } = JSON.parse(new URLSearchParams(location.search).get("given"));
const client = createTidefeed({ url, store: memoryStore(tokens) });
createRoot(document.getElementById("page")).render(createElement(TidefeedProvider, { client }, createElement(Composer, { backend: location.origin })));`;
/** The page is built with these, as an application's is with its own; React is there once. */
const modules = fileURLToPath(new URL("../../web-demo/node_modules", import.meta.url));
const ONCE = ["react", "react-dom"];

async function listen(handle) {
  const listener = createServer((request, response) => { void handle(request, response); }).listen(0, "127.0.0.1");
  await new Promise((resolve) => { listener.once("listening", resolve); });
  after(() => { listener.close(); listener.closeAllConnections(); });
  return `http://127.0.0.1:${listener.address().port}`;
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

/** A store with a bucket that any page may write to with a signed request. */
async function openStore() {
  const directory = mkdtempSync(path.join(tmpdir(), "tidefeed-uploads-"));
  const store = new S3rver({ address: "127.0.0.1", port: 0, silent: true, directory, configureBuckets: [{ name: "pictures", configs: [CORS] }] });
  const { port } = await store.run();
  const close = () => new Promise((resolve) => { store.close(resolve); });
  after(async () => { await close().catch(() => {}); rmSync(directory, { recursive: true, force: true }); });
  return `http://127.0.0.1:${port}/pictures`;
}

const page = `<!doctype html><title>App</title><link rel="icon" href="data:,"><div id="page"></div><script type="module" src="/main.js"></script>`;

test("a picture goes from the reader's device into the store, and is published with its size", async () => {
  const bucket = await openStore();
  let answer;
  const origin = await listen((request, response) => answer(request, response));
  const server = await start({ "server.allowed_origins": `["${origin}"]` });
  const author = await server.register("author");
  const { createUploads } = await moduleOf("uploads.mjs");
  const sign = createUploads({ bucket, api: `http://${server.address}`, ...KEYS });
  const { outputFiles: [script] } = await build({
    stdin: { contents: MAIN(fileURLToPath(fileOf("Composer.tsx"))), resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
    bundle: true, format: "esm", jsx: "automatic", write: false, nodePaths: [modules], alias: Object.fromEntries(ONCE.map((name) => [name, path.join(modules, name)])),
  });
  let runsOut = true;
  answer = async (request, response) => {
    if (request.method !== "POST") {
      const isScript = request.url === "/main.js";
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html").end(isScript ? script.text : page);
      return;
    }
    const given = new Request(`http://backend${request.url}`, { method: "POST", headers: { authorization: request.headers.authorization ?? "" }, body: await bodyOf(request) });
    const signed = await sign(given);
    const json = await signed.json();
    // A request that has run out, once.
    if (signed.ok && runsOut) json.url = json.url.replace(/X-Amz-Date=\d{4}/, "X-Amz-Date=2020");
    if (signed.ok) runsOut = false;
    response.writeHead(signed.status, { "content-type": "application/json" }).end(JSON.stringify(json));
  };
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  after(() => browser.close());
  const tab = await browser.newPage();
  tab.setDefaultTimeout(PATIENCE_MS);
  const failures = [];
  tab.on("pageerror", (error) => failures.push(error.message));
  await tab.goto(`${origin}/?${new URLSearchParams({ given: JSON.stringify({ url: `http://${server.address}`, tokens: author.tokens }) })}`);
  const item = (name) => tab.getByRole("listitem").filter({ hasText: name });
  const choose = (name, mimeType, buffer) => tab.getByLabel("Pictures").setInputFiles({ name, mimeType, buffer });

  await choose("notes.png", "image/png", Buffer.from("no picture"));
  await item("notes.png is not a picture or video that can be shown here.").getByRole("button", { name: "Remove" }).click();
  await choose("moving.bmp", "image/bmp", PNG);
  await item("image/bmp cannot be stored.").getByRole("button", { name: "Remove" }).click();

  await choose("tide.png", "image/png", PNG);
  await item("tide.png was not stored: the store does not answer, or refuses requests from this page.").waitFor();
  assert.ok(await tab.getByRole("button", { name: "Publish" }).isDisabled());
  await item("tide.png").getByRole("button", { name: "Try again" }).click();
  await item("tide.png").getByLabel("Description").fill("The tide at six.");
  await tab.getByRole("button", { name: "Publish" }).click();
  await item("tide.png").waitFor({ state: "detached" });

  const { timeline } = await server.data("{ timeline(first: 1) { edges { node { media { kind url width height alt } } } } }", {}, author.token);
  const [{ url, ...medium }] = timeline.edges[0].node.media;
  assert.deepEqual(medium, { kind: "PICTURE", width: 2, height: 3, alt: "The tide at six." });
  assert.ok(url.startsWith(`${bucket}/`) && url.endsWith(".png"), url);
  assert.deepEqual(Buffer.from(await (await fetch(url)).arrayBuffer()), PNG);

  const asked = (file, token) => sign(new Request("http://backend/uploads", { method: "POST", headers: { authorization: `Bearer ${token}` }, body: JSON.stringify(file) }));
  assert.equal((await asked({ type: "image/png", size: 1 }, "nobody's")).status, 401);
  assert.equal((await asked({ type: "image/png", size: 20_000_001 }, author.token)).status, 413);
  // This store does not look at signatures: what one holds for is read from the request.
  const signed = new URL((await (await asked({ type: "image/png", size: PNG.length }, author.token)).json()).url);
  assert.equal(signed.searchParams.get("X-Amz-SignedHeaders"), "content-length;content-type;host");
  assert.match(signed.searchParams.get("X-Amz-Signature"), /^[0-9a-f]{64}$/);
  assert.deepEqual(failures, []);
});
