// Every code of the schema's UserErrorCode, caused as a client does, with a message for people; and docs/errors.md knows them all.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildSchema } from "graphql";
import { start } from "./server.mjs";

const read = (name) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const codes = buildSchema(read("schema.graphql")).getType("UserErrorCode").getValues().map(({ name }) => name);
const PASSWORD = "correct horse battery";

const server = await start();
const [ann, bob] = await Promise.all(["ann", "bob"].map((handle) => server.register(handle)));

/** The payload of one mutation. */
async function ask(field, type, input, { token, more = "" } = {}) {
  const query = `mutation($input: ${type}!) { it: ${field}(input: $input) { ${more} userErrors { code field message } } }`;
  return (await server.data(query, { input }, token)).it;
}
const publish = (input, token = ann.token) => ask("publishContent", "PublishContentInput", input, { token, more: "timelineEdge { node { id } }" });
const remove = (contentId, token) => ask("deleteContent", "DeleteContentInput", { contentId }, { token });
const signIn = (handle, password = PASSWORD) => ask("signIn", "SignInInput", { handle, password }, { more: "token refreshToken retryAt" });
const register = (handle) => ask("registerUser", "RegisterUserInput", { handle, name: "x", password: PASSWORD });

const CAUSES = {
  INVALID: () => register("no handle"),
  TOO_LONG: () => publish({ text: "x".repeat(5_001) }),
  TAKEN: () => register("ann"),
  async NOT_FOUND() {
    const { timelineEdge } = await publish({ text: "gone" });
    await remove(timelineEdge.node.id, ann.token);
    return remove(timelineEdge.node.id, ann.token);
  },
  NOT_ALLOWED: async () => remove((await publish({ text: "ann's" })).timelineEdge.node.id, bob.token),
  WRONG_CREDENTIALS: () => signIn("ann", "another password"),
  async CONFLICT() {
    const { timelineEdge } = await publish({ text: "once", idempotencyKey: "key" });
    await remove(timelineEdge.node.id, ann.token);
    return publish({ text: "once", idempotencyKey: "key" });
  },
  async TOO_MANY_ATTEMPTS() {
    // Five are free; whoever takes longer than the first wait is let in once more.
    for (;;) {
      const asked = Date.now();
      const payload = await signIn("bob", "another password");
      if (payload.userErrors[0].code === "WRONG_CREDENTIALS") continue;
      assert.ok(Date.parse(payload.retryAt) > asked);
      return payload;
    }
  },
  async SESSION_ENDED() {
    await server.register("carl");
    const { token, refreshToken } = await signIn("carl");
    await server.data("mutation { signOut { endedSessionCount } }", {}, token);
    return ask("refreshToken", "RefreshTokenInput", { refreshToken });
  },
};

for (const [code, cause] of Object.entries(CAUSES)) {
  test(`${code} is told to whom it concerns`, async () => {
    const { userErrors } = await cause();
    assert.deepEqual(userErrors.map((error) => error.code), [code]);
    assert.match(userErrors[0].message, /^[A-Z].{9,}\.$/);
  });
}

test("every code of the schema is caused here, and stands in docs/errors.md", () => {
  assert.deepEqual(Object.keys(CAUSES).toSorted(), codes.toSorted());
  const table = read("docs/errors.md").split("## `UserErrorCode`")[1].split("\n## ")[0];
  assert.deepEqual([...table.matchAll(/^\| `([A-Z_]+)` /gm)].map(([, code]) => code).toSorted(), codes.toSorted());
});
