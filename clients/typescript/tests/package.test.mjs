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

const folder = fileURLToPath(new URL("..", import.meta.url));
const schema = buildSchema(readFileSync(new URL("../../../schema.graphql", import.meta.url), "utf8"));
const MOST_BYTES = 12_000;

test("every document fits schema.graphql", () => {
  for (const [name, document] of Object.entries(documents)) assert.deepEqual(validate(schema, parse(document)), [], name);
});

async function bundled(contents) {
  const { outputFiles } = await build({ stdin: { contents, resolveDir: folder }, bundle: true, minify: true, format: "esm", write: false, external: ["graphql-ws"] });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

test("the whole package has less than 12 kB, gzipped, beside graphql-ws, and who uses little takes little", async (context) => {
  const whole = await bundled("export * from './dist/index.js'");
  const little = await bundled("export { memoryStore } from './dist/index.js'");
  context.diagnostic(`${whole} bytes of ${MOST_BYTES}; a store alone: ${little}`);
  assert.ok(whole < MOST_BYTES, `${whole} bytes`);
  assert.ok(little < 400, `${little} bytes for a store alone: it does not shake`);
});

test("the tarball has its modules, their types and a description, and nothing else", () => {
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--loglevel=error"], { cwd: folder, encoding: "utf8" }));
  const names = files.map(({ path }) => path);
  const modules = names.filter((name) => name.endsWith(".js"));
  assert.deepEqual(names.filter((name) => !/^dist\/\w+(\.d)?\.[jt]s$/.test(name)).toSorted(), ["README.md", "package.json"]);
  assert.ok(modules.includes("dist/index.js"));
  for (const module of modules) assert.ok(names.includes(module.replace(/js$/, "d.ts")), `${module} has no types`);
});
