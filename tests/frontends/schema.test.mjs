// What linters, and the last released schema, say of schema.graphql.
import { CriticalityLevel, diff } from "@graphql-inspector/core";
import graphqlPlugin from "@graphql-eslint/eslint-plugin";
import { ESLint } from "eslint";
import { buildSchema } from "graphql";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const schemaFile = fileURLToPath(new URL("../../schema.graphql", import.meta.url));
/** All rules of graphql-schema-linter but those that want everything sorted: ours is sorted by sense. */
const LINTER_RULES = [
  "arguments-have-descriptions", "defined-types-are-used", "deprecations-have-a-reason", "descriptions-are-capitalized",
  "enum-values-all-caps", "enum-values-have-descriptions", "fields-are-camel-cased", "fields-have-descriptions",
  "input-object-values-are-camel-cased", "input-object-values-have-descriptions", "relay-connection-arguments-spec",
  "relay-connection-types-spec", "relay-page-info-spec", "types-are-capitalized", "types-have-descriptions",
];
/** Nodes are null while what they were is gone. */
const ESLINT_RULES = {
  // A connection is read in one direction or in both.
  "relay-arguments": ["error", { includeBoth: false }],
  "relay-connection-types": "error",
  "relay-edge-types": ["error", { withEdgeSuffix: true, shouldImplementNode: true, listTypeCanWrapOnlyEdgeType: false }],
  "relay-page-info": "error",
};

for (const rule of LINTER_RULES) {
  test(`graphql-schema-linter: ${rule}`, () => {
    const { status, stdout, stderr } = spawnSync("node_modules/.bin/graphql-schema-linter", ["--rules", rule, schemaFile], { cwd: here, encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
  });
}

for (const [rule, setting] of Object.entries(ESLINT_RULES)) {
  test(`graphql-eslint: ${rule}`, async () => {
    const eslint = new ESLint({
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      overrideConfigFile: true,
      overrideConfig: [{
        files: ["**/*.graphql"],
        languageOptions: { parser: graphqlPlugin.parser, parserOptions: { graphQLConfig: { schema: schemaFile } } },
        plugins: { "@graphql-eslint": graphqlPlugin },
        rules: { [`@graphql-eslint/${rule}`]: setting },
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
