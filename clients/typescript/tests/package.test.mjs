// What is published: documents that fit the schema, few bytes, and a tarball that has all that it promises.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { buildSchema, parse, validate } from "graphql";
import { documents } from "../dist/index.js";
import { typesOf } from "../scripts/types.mjs";

const folder = fileURLToPath(new URL("..", import.meta.url));
const schemaText = readFileSync(new URL("../../../schema.graphql", import.meta.url), "utf8");
const schema = buildSchema(schemaText);
const MOST_BYTES = 12_000;

test("every document fits schema.graphql", () => {
  for (const [name, document] of Object.entries(documents)) assert.deepEqual(validate(schema, parse(document)), [], name);
});

/** What an adapter adds at most. */
const MOST_OF_ADAPTER = 1_200;
/** What who only signs in takes at most. */
const MOST_OF_SESSION = 2_200;
const external = ["graphql-ws", "@apollo/client", "@urql/core", "wonka", "relay-runtime", "graphql"];

test("the types are those of schema.graphql", () => {
  const message = "src/schema.ts is not up to date: npm run types";
  assert.equal(readFileSync(new URL("../src/schema.ts", import.meta.url), "utf8"), typesOf(schemaText), message);
  // A field that may be null from now on is another type.
  assert.notEqual(typesOf(schemaText.replace("  subjectId: ID!", "  subjectId: ID")), typesOf(schemaText));
  assert.throws(() => typesOf(schemaText.replaceAll("  subjectId: ID!", "  subject: ID!")), /Content has no subjectId/);
});

async function scriptOf(contents) {
  const { outputFiles } = await build({ stdin: { contents, resolveDir: folder }, bundle: true, minify: true, format: "esm", write: false, external });
  return outputFiles[0].text;
}
const bundled = async (contents) => gzipSync(await scriptOf(contents), { level: 9 }).length;

test("the whole package has less than 12 kB, gzipped, beside graphql-ws, and who uses little takes little", async (context) => {
  const whole = await bundled("export * from './dist/index.js'");
  const little = await bundled("export { memoryStore } from './dist/index.js'");
  context.diagnostic(`${whole} bytes of ${MOST_BYTES}; a store alone: ${little}`);
  assert.ok(whole < MOST_BYTES, `${whole} bytes`);
  assert.ok(little < 400, `${little} bytes for a store alone: it does not shake`);
});

test("who only signs in takes no timeline, no socket and none of their documents", async (context) => {
  const used = (text) => ["loadOlder", "newFeed", "graphql-ws", "likeContent"].filter((word) => text.includes(word));
  const session = "export { createSession } from './dist/index.js'";
  assert.deepEqual(used(await scriptOf(session)), []);
  assert.deepEqual(used(await scriptOf("export { createTidefeed } from './dist/index.js'")), ["loadOlder", "newFeed", "graphql-ws", "likeContent"]);
  const bytes = await bundled(session);
  context.diagnostic(`${bytes} bytes of ${MOST_OF_SESSION}`);
  assert.ok(bytes < MOST_OF_SESSION, `${bytes} bytes`);
});

for (const name of ["apollo", "urql", "relay"]) {
  test(`the adapter for ${name} adds few bytes`, async (context) => {
    const added = await bundled(`export * from './dist/index.js'; export * as adapter from './dist/${name}.js'`) - await bundled("export * from './dist/index.js'");
    context.diagnostic(`${added} bytes of ${MOST_OF_ADAPTER}`);
    assert.ok(added < MOST_OF_ADAPTER, `${added} bytes`);
  });
}

test("who installs the package gets no GraphQL library that they do not use", () => {
  const { dependencies, peerDependencies, peerDependenciesMeta, exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.deepEqual(Object.keys(dependencies), ["graphql-ws"]);
  for (const name of Object.keys(peerDependencies)) assert.ok(peerDependenciesMeta[name]?.optional, name);
  assert.deepEqual(Object.keys(exports), [".", "./apollo", "./urql", "./relay", "./current", "./upload"]);
});

test("the tarball has its modules, their types and a description, and nothing else", () => {
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error"], { cwd: folder, encoding: "utf8" }));
  const names = files.map(({ path }) => path);
  const modules = names.filter((name) => name.endsWith(".js"));
  assert.deepEqual(names.filter((name) => !/^dist\/\w+(\.d)?\.[jt]s$/.test(name)).toSorted(), ["README.md", "package.json"]);
  assert.ok(modules.includes("dist/index.js"));
  for (const module of modules) assert.ok(names.includes(module.replace(/js$/, "d.ts")), `${module} has no types`);
});

test("the packages say how they may be used, how they are found, and are built before they are packed", () => {
  for (const name of ["typescript", "react"]) {
    const { license, keywords, scripts } = JSON.parse(readFileSync(new URL(`../../${name}/package.json`, import.meta.url), "utf8"));
    assert.deepEqual([license, scripts.prepack], ["MIT OR Apache-2.0", scripts.build]);
    assert.ok(keywords.includes("tidefeed") && keywords.includes("graphql"), name);
  }
});
