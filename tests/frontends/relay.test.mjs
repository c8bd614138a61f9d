// Relay as it comes: its compiler takes our schema, and docs/frontend.md's page in Chromium pages, follows live and publishes.
import babel from "@babel/core";
import { chromium } from "@playwright/test";
import { build } from "esbuild";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { PATIENCE_MS, until } from "../clients/server.mjs";
import { fileOf, textOf } from "./guide.mjs";
import { goOnPublishing, newestFirst, publish, settle } from "./world.mjs";

const source = fileURLToPath(new URL("relay/", import.meta.url));
const DELETE = "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { message } } }";
const compiler = fileURLToPath(new URL("node_modules/.bin/relay-compiler", import.meta.url));

function compile() {
  mkdirSync(`${source}__generated__`, { recursive: true });
  writeFileSync(`${source}page.jsx`, textOf("relay.jsx").replace("./feed.mjs", fileURLToPath(fileOf("feed.mjs"))));
  return spawnSync(compiler, ["relay.config.json"], { cwd: source, encoding: "utf8" });
}

/** The page as one script: Relay's documents by its babel plugin, the rest by esbuild. */
async function bundle() {
  const documents = {
    name: "relay",
    setup: ({ onLoad }) => onLoad({ filter: /page\.jsx$/ }, ({ path }) => {
      const options = { filename: path, configFile: false, presets: [["@babel/preset-react", { runtime: "automatic" }]] };
      const plugin = ["babel-plugin-relay", { artifactDirectory: `${source}__generated__`, eagerEsModules: true }];
      const { code } = babel.transformSync(readFileSync(path, "utf8"), { ...options, plugins: [plugin] });
      return { contents: code, loader: "js" };
    }),
  };
  const { outputFiles } = await build({
    entryPoints: [`${source}page.jsx`], bundle: true, write: false, format: "esm", plugins: [documents],
    define: { "process.env.NODE_ENV": '"development"' },
  });
  return outputFiles[0].text;
}

/** Serves the page from an origin of its own, as a frontend's host would. */
async function host(script) {
  const listener = createServer(({ url }, response) => {
    const isScript = url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : '<!doctype html><title>Relay</title><div id="page"></div><script type="module" src="/page.js"></script>');
  });
  await new Promise((resolve) => { listener.listen(0, "127.0.0.1", resolve); });
  after(() => listener.close());
  return `http://127.0.0.1:${listener.address().port}`;
}

test("relay-compiler takes the schema and the page's documents", () => {
  const { status, stdout, stderr } = compile();
  assert.equal(status, 0, stdout + stderr);
});

test("a react-relay page reads on through a hundred contents while others publish, shows what is new, what it publishes itself and what it missed, once each", async () => {
  const origin = await host(await bundle());
  const world = await settle({ "server.allowed_origins": `["${origin}"]` });
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  after(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.addInitScript(() => {
    window.sockets = [];
    window.WebSocket = class extends WebSocket {
      constructor(...given) {
        super(window.away ? "ws://127.0.0.1:1" : given[0], ...given.slice(1));
        if (!window.away) window.sockets.push(this);
      }
    };
  });
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  await page.goto(`${origin}/?${new URLSearchParams({ server: world.server.address, token: world.reader.token })}`);
  await page.getByRole("listitem").first().waitFor();
  const texts = () => page.getByRole("listitem").allTextContents();
  await publish(world.server, world.authors[0], "hello");
  await until("the page hears what is new", async () => (await texts()).includes("hello"));
  const follow = (field, type) => world.server.data(`mutation($input: ${type}!) { ${field}(input: $input) { userErrors { message } } }`, { input: { userId: world.authors[3].id } }, world.reader.token);
  const isTrue = (what) => until(what, async () => {
    const shown = await texts();
    const { timeline } = await world.server.data("{ timeline(first: 100) { edges { node { text } } } }", {}, world.reader.token);
    return shown.length > 0 && shown.join() === timeline.edges.map(({ node }) => node.text).slice(0, shown.length).join();
  });
  await follow("unfollowUser", "UnfollowUserInput");
  await until("an author who was unfollowed elsewhere has gone", async () => {
    const now = await texts();
    return now.length > 0 && !now.includes(world.texts[0]);
  });
  await follow("followUser", "FollowUserInput");
  await until("they are back", async () => (await texts()).includes(world.texts[0]));
  await isTrue("each entry is at its place");
  const stop = goOnPublishing(world);
  const more = page.getByRole("button").first();
  const isAll = async () => {
    await page.waitForFunction(() => {
      const button = document.querySelector("button");
      return !button.disabled || button.textContent === "That is all";
    });
    return (await more.textContent()) === "That is all";
  };
  while (!(await isAll())) await more.click();
  const meanwhile = await stop();
  assert.ok(meanwhile > 0, "nobody published meanwhile");
  const last = await publish(world.server, world.authors[0], "the last");
  await until("the last is shown", async () => (await texts()).includes("the last"));
  const shown = await texts();
  assert.deepEqual(shown.filter((text) => text.startsWith("content")), world.texts);
  const ofMeanwhile = shown.filter((text) => text.startsWith("meanwhile"));
  assert.deepEqual(ofMeanwhile, newestFirst(meanwhile));
  await page.getByRole("button", { name: "Publish" }).click();
  await until("one's own is shown", async () => (await texts())[0] === "of my own");
  assert.equal((await texts()).length, shown.length + 1);
  const connected = await page.evaluate(() => window.sockets.length);
  await page.evaluate(() => {
    window.away = true;
    window.sockets.forEach((socket) => { socket.close(4499, "cut"); });
  });
  await publish(world.server, world.authors[0], "while away");
  await world.server.data(DELETE, { id: last }, world.authors[0].token);
  await page.evaluate(() => { window.away = false; });
  await until("what was missed is shown, and what was told before and is deleted has gone", async () => {
    const now = await texts();
    return now[0] === "while away" && !now.includes("the last");
  });
  assert.ok(await page.evaluate(() => window.sockets.length) > connected, "it was never away");
  assert.equal(new Set(await texts()).size, (await texts()).length, "an entry is shown twice");
  assert.deepEqual(faults, []);
});
