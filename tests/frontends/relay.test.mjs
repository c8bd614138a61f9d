// Relay: its compiler takes our schema, the adapter of @tidefeed/client keeps the list in its store, and docs/frontend.md's page in Chromium pages, follows live and publishes.
import { TIMELINE, TIMELINE_OF_KINDS, keepInStore } from "@tidefeed/client/relay";
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
import { Environment, Network, RecordSource, Store, createOperationDescriptor } from "relay-runtime";
import { listOf } from "./adapters.mjs";
import { textOf } from "./guide.mjs";
import { live } from "./live-list.mjs";
import { clientOf, goOnPublishing, newestFirst, publish, settle } from "./world.mjs";

const source = fileURLToPath(new URL("relay/", import.meta.url));
const DELETE = "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { message } } }";
/** What the adapter asks for. */
const SELECTION = TIMELINE.params.text.match(/timeline \{([\s\S]*)\} \}$/)[1];
const compiler = fileURLToPath(new URL("node_modules/.bin/relay-compiler", import.meta.url));

/** Relay's own pagination and live edges, which the compiler has to take; a query of one content; and what the adapter has in place of an artifact. */
const DOCUMENTS = {
  "pages.js": `
    graphql\`query pagesQuery($first: Int!) { ...pages_timeline @arguments(first: $first) }\`;
    graphql\`fragment pages_timeline on Query @refetchable(queryName: "pagesNextQuery") @argumentDefinitions(first: { type: "Int!" }, after: { type: "String" }) {
      timeline(first: $first, after: $after) @connection(key: "pages_timeline") { resumeToken edges { node { id text } } }
    }\`;
    graphql\`subscription pagesSubscription($after: String, $connections: [ID!]!) {
      newFeed(after: $after) {
        ... on EntryAdded { timelineEdge @prependEdge(connections: $connections) { cursor node { id text } } resumeToken }
        ... on ContentRemoved { contentId @deleteEdge(connections: $connections) resumeToken }
      }
    }\`;
    graphql\`mutation pagesMutation($text: String!, $connections: [ID!]!) {
      publishContent(input: { text: $text }) { timelineEdge @prependEdge(connections: $connections) { cursor node { id text } } userErrors { message } }
    }\`;`,
  "one.js": "graphql`query oneQuery($id: ID!) { content(id: $id) { id viewerHasLiked likeCount } }`;",
  "list.js": `
    graphql\`query listQuery { timeline { ${SELECTION} } }\`;
    graphql\`query listOfKindsQuery($kinds: [ContentKind!]!) { timeline(filter: { kinds: $kinds }) { ${SELECTION} } }\`;`,
};

function compile() {
  mkdirSync(`${source}__generated__`, { recursive: true });
  writeFileSync(`${source}page.jsx`, textOf("relay.jsx"));
  for (const [name, text] of Object.entries(DOCUMENTS)) writeFileSync(`${source}${name}`, `import { graphql } from "relay-runtime";\n${text}\n`);
  return spawnSync(compiler, ["relay.config.json"], { cwd: source, encoding: "utf8" });
}

const artifact = async (name) => (await import(`./relay/__generated__/${name}.graphql.js`)).default;

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
    define: { "process.env.NODE_ENV": '"development"' }, alias: { "relay-runtime": fileURLToPath(new URL("node_modules/relay-runtime", import.meta.url)) },
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

test("the adapter's queries are what relay-compiler makes of them", async () => {
  for (const [ours, name] of [[TIMELINE, "listQuery"], [TIMELINE_OF_KINDS, "listOfKindsQuery"]]) {
    const { operation, fragment } = await artifact(name);
    const { selections, argumentDefinitions } = ours.operation;
    assert.deepEqual({ selections, argumentDefinitions }, { selections: operation.selections, argumentDefinitions: operation.argumentDefinitions });
    assert.deepEqual(ours.fragment.selections, fragment.selections);
  }
});

/** An environment whose requests are `tidefeed`'s, and what its store has of a query. */
function environmentOf(tidefeed) {
  const network = Network.create(async ({ text }, variables) => ({ data: await tidefeed.request(text, variables) }));
  const environment = new Environment({ network, store: new Store(new RecordSource(), { gcReleaseBufferSize: 0 }) });
  const descriptorOf = (query, variables = {}) => createOperationDescriptor(query, variables);
  return {
    environment,
    descriptorOf,
    read: (query, variables) => environment.lookup(descriptorOf(query, variables).fragment).data?.timeline,
    watch(query, variables, show) {
      const { fragment } = descriptorOf(query, variables);
      const snapshot = environment.lookup(fragment);
      if (snapshot.data) show(snapshot.data);
      const shown = environment.subscribe(snapshot, ({ data }) => { show(data); });
      after(() => shown.dispose());
    },
  };
}

test("the list in Relay's store stays true while things come and go, and while its connection is away", () => live(async ({ server, reader }, webSocketImpl, show) => {
  const tidefeed = clientOf(server, reader, { webSocketImpl });
  const timeline = tidefeed.timeline({ first: 7, settleMs: 50 });
  const { environment, watch } = environmentOf(tidefeed);
  watch(TIMELINE, {}, (data) => { if (data.timeline) show(data.timeline.edges); });
  after(keepInStore(timeline, environment));
  return { older: timeline.loadOlder, publish: (text) => tidefeed.publish({ text }) };
}));

test("what the viewer does shows in every query of Relay's, drafts leave nothing behind, and a list of some kinds is one of its own", () => listOf(async ({ tidefeed, timelines }) => {
  const { environment, descriptorOf, read, watch } = environmentOf(tidefeed);
  for (const timeline of timelines) after(keepInStore(timeline, environment));
  const query = await artifact("oneQuery");
  return {
    watch(_text, variables, show) {
      watch(query, variables, show);
      const operation = descriptorOf(query, variables);
      environment.retain(operation);
      environment.execute({ operation }).subscribe({});
    },
    whole: () => read(TIMELINE),
    ofKinds: (kinds) => read(TIMELINE_OF_KINDS, { kinds }),
    drafts() {
      environment.retain(descriptorOf(query, { id: "none" })).dispose(); // Relay collects what is in no list any more when something is released.
      return environment.getStore().getSource().getRecordIDs().filter((id) => id.startsWith("draft:"));
    },
  };
}));

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
  await page.goto(`${origin}/?${new URLSearchParams({ server: `http://${world.server.address}`, tokens: JSON.stringify(world.reader.tokens) })}`);
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
  // The last entries may have come, and the button be no more to be pressed, by the time at which it is.
  while (!(await isAll())) await more.evaluate((button) => { button.click(); });
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
