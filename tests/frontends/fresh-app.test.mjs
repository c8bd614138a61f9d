// What `npm pack` makes of @tidefeed/client and @tidefeed/react, installed into a fresh Vite app: it builds, renders on a server, and shows a live timeline in Chromium.
import { chromium } from "@playwright/test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { PATIENCE_MS } from "../clients/server.mjs";
import { publish, settle } from "./world.mjs";

const PACKAGES = ["typescript", "react"].map((name) => fileURLToPath(new URL(`../../clients/${name}`, import.meta.url)));
const TYPES = { ".html": "text/html", ".js": "text/javascript" };
const versionOf = (name) => JSON.parse(readFileSync(new URL(`../../web-demo/package.json`, import.meta.url), "utf8"))[name === "vite" ? "devDependencies" : "dependencies"][name];

/** A timeline with a follow button at each entry, and a form that publishes. */
const FEED = `import { createTidefeed, memoryStore } from "@tidefeed/client";
import { TidefeedProvider, useConnection, useFollow, useTidefeed, useTimeline, useViewer } from "@tidefeed/react";
import { createElement as h } from "react";

function Entry({ content }) {
  const { isFollowing, toggle } = useFollow(content.author);
  return h("li", null, h("span", null, content.text), h("button", { onClick: toggle }, isFollowing ? "Unfollow" : "Follow"));
}

function Feed() {
  const { entries, hasOlder, loadOlder } = useTimeline({ first: 5 });
  const [client, connection, viewer] = [useTidefeed(), useConnection(), useViewer()];
  return h("main", null,
    h("h1", null, viewer.value?.handle ?? "nobody", " is ", connection),
    h("ol", null, entries.map(({ id, content }) => h(Entry, { key: id, content }))),
    hasOlder && h("button", { onClick: loadOlder }, "More"),
    h("button", { onClick: () => client.publish({ text: "of my own" }) }, "Publish"));
}

export const appOf = (url, tokens) => h(TidefeedProvider, { client: createTidefeed({ url, store: memoryStore(tokens) }) }, h(Feed));
`;
const MAIN = `import { createRoot } from "react-dom/client";
import { appOf } from "./feed.js";

const given = new URLSearchParams(window.location.search);
createRoot(document.getElementById("page")).render(appOf(given.get("server"), JSON.parse(given.get("tokens"))));
`;
const RENDER = `import { renderToString } from "react-dom/server";
import { appOf } from "./feed.js";

console.log(renderToString(appOf("https://feed.example.org", null)));
`;

/** The app's folder, with everything installed. */
function freshApp() {
  const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-app-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const npm = (cwd, ...words) => execFileSync("npm", [...words, "--loglevel=error"], { cwd, encoding: "utf8" });
  const [client, react] = PACKAGES.map((cwd) => `file:./${JSON.parse(npm(cwd, "pack", "--json", "--pack-destination", folder))[0].filename}`);
  const dependencies = {
    "@tidefeed/client": client, "@tidefeed/react": react, react: versionOf("react"), "react-dom": versionOf("react-dom"), vite: versionOf("vite"),
  };
  const files = {
    "package.json": JSON.stringify({ name: "app", private: true, type: "module", dependencies }),
    "index.html": '<!doctype html><title>App</title><link rel="icon" href="data:,"><div id="page"></div><script type="module" src="/main.js"></script>',
    "main.js": MAIN, "feed.js": FEED, "render.js": RENDER,
  };
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  npm(folder, "install", "--no-audit", "--no-fund", "--prefer-offline");
  return folder;
}

/** Serves what Vite has built from an origin of its own, as a frontend's host does. */
async function host(folder) {
  const listener = createServer(({ url }, response) => {
    const file = new URL(url, "http://app").pathname.replace(/\/$/, "/index.html");
    response.setHeader("content-type", TYPES[path.extname(file)] ?? "text/plain");
    response.end(readFileSync(path.join(folder, "dist", path.normalize(file))));
  });
  await new Promise((resolve) => { listener.listen(0, "127.0.0.1", resolve); });
  after(() => listener.close());
  return `http://127.0.0.1:${listener.address().port}`;
}

const folder = freshApp();

test("the packages render on a server, where there is nobody and nothing yet", () => {
  const html = execFileSync(process.execPath, ["render.js"], { cwd: folder, encoding: "utf8" });
  assert.match(html, /<h1>nobody<!-- --> is <!-- -->idle<\/h1><ol><\/ol>/);
});

test("a fresh Vite app with the packed packages shows a live timeline, reads on, publishes and unfollows", async () => {
  execFileSync(path.join(folder, "node_modules/.bin/vite"), ["build", "--logLevel", "error"], { cwd: folder });
  const origin = await host(folder);
  const { server, reader, authors, texts } = await settle({ "server.allowed_origins": `["${origin}"]` }, 12);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  after(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const failures = [];
  page.on("pageerror", (error) => failures.push(error.message));
  await page.goto(`${origin}/?${new URLSearchParams({ server: `http://${server.address}`, tokens: JSON.stringify(reader.tokens) })}`);
  const shows = async (wanted) => {
    await page.waitForFunction((all) => [...document.querySelectorAll("li span")].map(({ textContent }) => textContent).join() === all, wanted.join());
  };
  await shows(texts.slice(0, 5));
  await page.getByRole("heading", { name: "reader is live" }).waitFor();
  await publish(server, authors[0], "live");
  await shows(["live", ...texts.slice(0, 5)]);
  await page.getByRole("button", { name: "More" }).click();
  await shows(["live", ...texts.slice(0, 10)]);
  await page.getByRole("button", { name: "Publish" }).click();
  await shows(["of my own", "live", ...texts.slice(0, 10)]);
  await page.locator("li", { hasText: "live" }).getByRole("button", { name: "Unfollow" }).click();
  await shows(["of my own", ...texts.slice(0, 10).filter((text) => Number(text.split(" ")[1]) % 4 !== 0)]);
  assert.deepEqual(failures, []);
});
