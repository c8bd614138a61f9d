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
import { PASSWORD, PATIENCE_MS } from "../clients/server.mjs";
import { QUICK_START } from "./guide.mjs";
import { publish, settle } from "./world.mjs";

const PACKAGES = ["typescript", "react"].map((name) => fileURLToPath(new URL(`../../clients/${name}`, import.meta.url)));
const TYPES = { ".html": "text/html", ".js": "text/javascript" };
const versionOf = (name) => JSON.parse(readFileSync(new URL(`../../web-demo/package.json`, import.meta.url), "utf8"))[name === "vite" ? "devDependencies" : "dependencies"][name];

/** A timeline with a follow button at each entry, and a form that publishes. */
const FEED = `import { createTidefeed } from "@tidefeed/client";
import { TidefeedProvider, useConnection, useFollow, useSession, useTidefeed, useTimeline, useViewer } from "@tidefeed/react";
import { createElement as h } from "react";

function Entry({ content }) {
  const { isFollowing, toggle } = useFollow(content.author);
  return h("li", null, h("span", null, content.text), h("button", { onClick: toggle }, isFollowing ? "Unfollow" : "Follow"));
}

function Feed() {
  const { entries, hasOlder, loadOlder } = useTimeline({ first: 5 });
  const [client, connection, viewer, session] = [useTidefeed(), useConnection(), useViewer(), useSession()];
  return h("main", null,
    h("p", null, session.signedIn ? "signed in" : "signed out"),
    h("h1", null, viewer.value?.handle ?? "nobody", " is ", connection),
    h("ol", null, entries.map(({ id, content }) => h(Entry, { key: id, content }))),
    hasOlder && h("button", { onClick: loadOlder }, "More"),
    h("button", { onClick: () => client.publish({ text: "of my own" }) }, "Publish"));
}

export const appOf = (options) => h(TidefeedProvider, { client: createTidefeed(options) }, h(Feed));
`;
const MAIN = `import { memoryStore } from "@tidefeed/client";
import { createRoot, hydrateRoot } from "react-dom/client";
import { appOf } from "./feed.js";

const given = new URLSearchParams(window.location.search);
const [url, tokens] = [given.get("server"), JSON.parse(given.get("tokens"))];
const page = document.getElementById("page");
// What a server has rendered has its tokens from elsewhere, as of an external issuer.
const app = appOf({ url, ...(page.hasChildNodes() ? { token: async () => tokens.token } : { store: memoryStore(tokens) }) });
if (page.hasChildNodes()) hydrateRoot(page, app, { onRecoverableError: (error) => { setTimeout(() => { throw error; }); } });
else createRoot(page).render(app);
`;
const RENDER = `import { memoryStore } from "@tidefeed/client";
import { renderToString } from "react-dom/server";
import { appOf } from "./feed.js";

// The session is known here, as by a cookie: what is rendered does not depend on it, nothing is asked for, and nothing keeps the program running.
globalThis.fetch = () => { throw new Error("A server asks for nothing."); };
const tokens = { token: "a", expiresAt: "2999-01-01T00:00:00.000Z", refreshToken: "b" };
console.log(renderToString(appOf({ url: "https://feed.example.org", store: memoryStore(process.argv[2] === "nobody" ? null : tokens) })));
`;

/** The quick start of @tidefeed/react's README, for a server that the address names. */
const QUICK = QUICK_START.replace('"http://127.0.0.1:8080"', 'new URLSearchParams(window.location.search).get("server")!');
const pageOf = (id, script) => `<!doctype html><title>App</title><link rel="icon" href="data:,"><div id="${id}"></div><script type="module" src="/${script}"></script>`;

/** The app's folder, with everything installed. */
function freshApp() {
  const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-app-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const npm = (cwd, ...words) => execFileSync("npm", [...words, "--loglevel=error"], { cwd, encoding: "utf8" });
  const [client, react] = PACKAGES.map((cwd) => `file:./${JSON.parse(npm(cwd, "pack", "--json", "--ignore-scripts", "--pack-destination", folder))[0].filename}`);
  const dependencies = {
    "@tidefeed/client": client, "@tidefeed/react": react, react: versionOf("react"), "react-dom": versionOf("react-dom"), vite: versionOf("vite"),
  };
  const files = {
    "package.json": JSON.stringify({ name: "app", private: true, type: "module", dependencies }),
    "index.html": pageOf("page", "main.js"), "main.js": MAIN, "feed.js": FEED, "render.js": RENDER, "quick.html": pageOf("root", "quick.tsx"), "quick.tsx": QUICK,
    "tsconfig.json": '{ "compilerOptions": { "jsx": "react-jsx" } }',
    "vite.config.js": 'export default { build: { rollupOptions: { input: ["index.html", "quick.html"] } } };',
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

/** What a server renders, for somebody or nobody. */
const rendered = (who) => execFileSync(process.execPath, ["render.js", who], { cwd: folder, encoding: "utf8", timeout: PATIENCE_MS }).trim();

/** The built app's page `file` in Chromium for the reader of a world, and what shows there. `name`: by which its host is asked for; `script` runs before the page's. */
async function open(file, { name = "127.0.0.1", script = "" } = {}) {
  const origin = await host(folder);
  const world = await settle({ "server.allowed_origins": `["${origin}"]` }, 12);
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  after(() => browser.close());
  const page = await browser.newPage();
  await page.addInitScript(script);
  page.setDefaultTimeout(PATIENCE_MS);
  const failures = [];
  page.on("pageerror", (error) => failures.push(error.message));
  const asked = origin.replace("127.0.0.1", name);
  await page.goto(`${asked}/${file}?${new URLSearchParams({ server: `http://${world.server.address}`, tokens: JSON.stringify(world.reader.tokens) })}`);
  const shows = async (wanted) => {
    await page.waitForFunction((all) => [...document.querySelectorAll("li span")].map(({ textContent }) => textContent).join() === all, wanted.join());
  };
  return { ...world, page, failures, shows, origin: asked };
}

execFileSync(path.join(folder, "node_modules/.bin/vite"), ["build", "--logLevel", "error"], { cwd: folder });

test("the packages render on a server, where nothing has been read yet, whoever is signed in", () => {
  const html = rendered("nobody");
  assert.match(html, /<p>signed out<\/p><h1>nobody<!-- --> is <!-- -->idle<\/h1><ol><\/ol>/);
  assert.equal(rendered("somebody"), html);
});

test("a fresh Vite app with the packed packages shows a live timeline, reads on, publishes and unfollows", async () => {
  const { server, authors, texts, page, failures, shows } = await open("");
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

test("what a server has rendered is taken over by the page of somebody who is signed in", async () => {
  const shell = readFileSync(path.join(folder, "dist/index.html"), "utf8");
  writeFileSync(path.join(folder, "dist/rendered.html"), shell.replace('<div id="page"></div>', `<div id="page">${rendered("nobody")}</div>`));
  const { texts, page, failures, shows } = await open("rendered.html");
  await shows(texts.slice(0, 5));
  await page.getByText("signed in").waitFor();
  assert.deepEqual(failures, []);
});

/** Signs in on the page of the quick start. */
async function signIn(page, password) {
  await page.getByPlaceholder("Handle").fill("reader");
  await page.getByPlaceholder("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("the React quick start signs in, and a clock a year ahead refreshes nothing", async () => {
  const { texts, page, failures } = await open("quick.html", { script: "const { now } = Date; Date.now = () => now() + 365 * 86_400_000;" });
  const refreshes = [];
  page.on("request", (request) => { if (request.postData()?.includes("RefreshTokenInput")) refreshes.push(request.url()); });
  await signIn(page, "another one");
  await page.getByRole("alert").filter({ hasText: /password/i }).waitFor();
  await signIn(page, PASSWORD);
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
  assert.deepEqual(await page.locator("li").allTextContents(), texts.map((text, at) => `author_${(texts.length - 1 - at) % 4}: ${text}`));
  assert.deepEqual([failures, refreshes], [[], []]);
});

test("a page of an origin that the server does not allow is told so", async () => {
  const { server, page, origin } = await open("quick.html", { name: "app.localhost" });
  await signIn(page, PASSWORD);
  await page.getByRole("alert").filter({ hasText: `http://${server.address}/graphql refuses pages of ${origin}: list it in server.allowed_origins.` }).waitFor();
});
