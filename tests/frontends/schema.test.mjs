// What linters, and the last released schema, say of schema.graphql.
import { CriticalityLevel, diff } from "@graphql-inspector/core";
import graphqlPlugin from "@graphql-eslint/eslint-plugin";
import { ESLint } from "eslint";
import { buildSchema } from "graphql";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const schemaFile = fileURLToPath(new URL("../../schema.graphql", import.meta.url));
/** Rules of graphql-schema-linter that are not held, and why. All others are. */
const SORTED_BY_SENSE = "What belongs together stands together.";
const LINTER_EXCEPTIONS = {
  "enum-values-sorted-alphabetically": SORTED_BY_SENSE,
  "input-object-fields-sorted-alphabetically": SORTED_BY_SENSE,
  "interface-fields-sorted-alphabetically": SORTED_BY_SENSE,
  "type-fields-sorted-alphabetically": SORTED_BY_SENSE,
};
const LINTER_RULES = readdirSync(new URL("node_modules/graphql-schema-linter/lib/rules", import.meta.url))
  .map((file) => file.replace(/\.js$/, "").replaceAll("_", "-")).filter((rule) => !(rule in LINTER_EXCEPTIONS));
/** Settings of graphql-eslint's Relay rules that are not its own, and why. */
const ESLINT_SETTINGS = {
  // Replies, searches and the lists of whom the viewer keeps out are read forwards only.
  "@graphql-eslint/relay-arguments": { includeBoth: false },
  // `nodes`, `ancestors`, `sessions` and `suggestedUsers` are lists with a bound, not connections.
  "@graphql-eslint/relay-edge-types": { withEdgeSuffix: true, shouldImplementNode: true, listTypeCanWrapOnlyEdgeType: false },
};
const ESLINT_RULES = Object.fromEntries(Object.keys(graphqlPlugin.configs["flat/schema-relay"].rules)
  .map((rule) => [rule, rule in ESLINT_SETTINGS ? ["error", ESLINT_SETTINGS[rule]] : "error"]));

test("every exception is a rule that there is", () => {
  for (const rule of Object.keys(ESLINT_SETTINGS)) assert.ok(rule in ESLINT_RULES, rule);
  const files = readdirSync(new URL("node_modules/graphql-schema-linter/lib/rules", import.meta.url));
  assert.equal(files.length, LINTER_RULES.length + Object.keys(LINTER_EXCEPTIONS).length);
  assert.ok(LINTER_RULES.length >= 15 && Object.keys(ESLINT_RULES).length >= 4);
});

for (const rule of LINTER_RULES) {
  test(`graphql-schema-linter: ${rule}`, () => {
    const { status, stdout, stderr } = spawnSync("node_modules/.bin/graphql-schema-linter", ["--rules", rule, schemaFile], { cwd: here, encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
  });
}

for (const [rule, setting] of Object.entries(ESLINT_RULES)) {
  test(`graphql-eslint: ${rule.replace("@graphql-eslint/", "")}`, async () => {
    const eslint = new ESLint({
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      overrideConfigFile: true,
      overrideConfig: [{
        files: ["**/*.graphql"],
        languageOptions: { parser: graphqlPlugin.parser, parserOptions: { graphQLConfig: { schema: schemaFile } } },
        plugins: { "@graphql-eslint": graphqlPlugin },
        rules: { [rule]: setting },
      }],
    });
    const [{ messages, filePath }] = await eslint.lintFiles([schemaFile]);
    assert.equal(filePath, schemaFile);
    assert.deepEqual(messages.map(({ line, message }) => `${line}: ${message}`), []);
  });
}

test("nothing that the released schema offers is broken", async () => {
  const [released, current] = [new URL("released.graphql", import.meta.url), schemaFile].map((file) => buildSchema(readFileSync(file, "utf8")));
  const broken = (await diff(released, current)).filter(({ criticality }) => criticality.level === CriticalityLevel.Breaking);
  assert.deepEqual(broken.map(({ message }) => message), []);
});
