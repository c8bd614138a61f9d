// The price that is told before an operation runs, held against what it really answers: documents drawn from the whole schema, and those that are
// meant to cost more than they pay for, never get more objects, fields, bytes or tokens than their points stand for. SEED repeats a run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { getNamedType, isObjectType } from "graphql";
import { BOMBS, DESCRIPTIONS, LONG, REFUSED, USUAL, draw, generator, schema, world } from "./corpus.mjs";
import { bearer, start } from "./server.mjs";

const DOCUMENTS = 500;
/** A field is a tenth of a point, and its name and a short value are well below a tenth of these; 4 KiB of a long text are a point. */
const BYTES_OF_A_POINT = 12_000;
/** A token is a byte at least, and 50 points pay for reading 1,000 bytes: 20 tokens a point, and what comes back meanwhile. */
const TOKENS_OF_A_POINT = 25;
const KEY = `tfs_${"k".repeat(43)}`;
const seed = Number(process.env.SEED ?? 1);

const server = await start({ "graphql.max_cost": 10_000_000, "rate_limit.viewer_points": 1_000_000_000, "rate_limit.viewer_points_per_s": 1, "rate_limit.service_points": 10_000_000, "rate_limit.anonymous_points": 10_000_000,
  "service.key": KEY, "service.scopes": "act_as,contents" });
const inhabitants = await world(server, { loud: 10 });
const [ann] = inhabitants.people;
const runner = await server.register("runner");
for (let number = 0; number < 20; number += 1) {
  const variables = { input: { text: "x", externalId: `run-${number}`, type: "run", attributes: { a: "x".repeat(8_184) } } };
  const { json } = await server.post({ query: "mutation($input: PublishContentInput!) { it: publishContent(input: $input) { userErrors { message } } }", variables }, { ...bearer(KEY), "tidefeed-act-as": runner.id });
  assert.deepEqual(json.data?.it.userErrors, [], JSON.stringify(json));
}
const OBJECTS = { "20 longest sets of attributes": "{ user(handle: \"runner\") { contents(first: 20) { nodes { externalId url type attributes } } } }" };

/** The objects of an answer, and its values that are none. */
function counted(value) {
  if (value === null || typeof value !== "object") return { objects: 0, values: 1 };
  const inner = (Array.isArray(value) ? value : Object.values(value)).map(counted);
  const sum = (what) => inner.reduce((total, it) => total + it[what], 0);
  return { objects: sum("objects") + (Array.isArray(value) ? 0 : 1), values: sum("values") };
}

/** What ann has left, after asking for it. One point comes back each second. */
async function left() {
  const { json } = await server.post({ query: "{ __typename }" }, bearer(ann.token));
  return { remaining: json.extensions.cost.remaining, requested: json.extensions.cost.requested };
}

/** Points that asking for `query` takes, with what reading it takes. */
async function spent(query) {
  const before = await left();
  await server.post({ query }, bearer(ann.token));
  const after = await left();
  return before.remaining - after.remaining - after.requested;
}

test(`no document answers more than it has paid for (SEED=${seed})`, async (context) => {
  const random = generator(seed);
  const seen = new Set();
  let [answered, paid, dearest] = [0, 0, 0];
  for (let number = 0; number < DOCUMENTS; number += 1) {
    const query = draw(random, inhabitants);
    const { json } = await server.post({ query }, bearer(ann.token));
    const cost = json.extensions?.cost?.requested;
    if (json.data === undefined && /QUERY_TOO_COMPLEX/.test(JSON.stringify(json.errors))) continue;
    assert.ok(json.data !== undefined && cost !== undefined, `${query}\n${JSON.stringify(json)}`);
    const { objects, values } = counted(json.data);
    assert.ok(objects + values / 10 <= cost, `${objects} objects and ${values} values for ${cost} points: ${query}`);
    const bytes = JSON.stringify(json.data).length;
    assert.ok(bytes <= cost * BYTES_OF_A_POINT, `${bytes} bytes for ${cost} points: ${query}`);
    [answered, paid, dearest] = [answered + objects, paid + cost, Math.max(dearest, objects)];
    for (const [, name] of query.matchAll(/: (\w+)/g)) seen.add(name);
  }
  context.diagnostic(`${answered} objects for ${paid} points, ${dearest} at most`);
  assert.ok(dearest > 100, `the answers are too small to show anything: ${dearest}`);
  const composite = Object.values(schema.getQueryType().getFields()).concat(...["User", "Content"].map((name) => Object.values(schema.getType(name).getFields())))
    .filter(({ type }) => isObjectType(getNamedType(type))).map(({ name }) => name);
  assert.deepEqual(composite.filter((name) => !seen.has(name)), [], "fields that lead to objects and were never drawn");
});

for (const [name, query] of Object.entries({ ...USUAL, ...LONG, ...OBJECTS, ...DESCRIPTIONS, ...BOMBS })) {
  test(`${name}: objects, fields and bytes are paid for`, async (context) => {
    const { json } = await server.post({ query }, bearer(ann.token));
    assert.equal(json.errors, undefined, JSON.stringify(json.errors)?.slice(0, 300));
    const cost = json.extensions.cost.requested;
    const { objects, values } = counted(json.data);
    const bytes = Buffer.byteLength(JSON.stringify(json.data));
    context.diagnostic(`${cost} points: ${objects} objects, ${values} values, ${bytes} bytes of answer, ${query.length} of document`);
    // In a description of the schema an object is a tenth, and lists are as long as they are on an average: half as much again is slack.
    const parts = name in DESCRIPTIONS ? (objects + values) / 15 : objects + values / 10;
    assert.ok(parts <= cost && bytes <= cost * BYTES_OF_A_POINT && query.length <= cost * 1000, `${parts} parts, ${bytes} bytes for ${cost} points`);
  });
}

for (const [name, query] of Object.entries({ ...BOMBS, ...REFUSED })) {
  test(`${name}: who has it read pays for its tokens, run or refused`, async () => {
    const tokens = query.replace(/#.*/g, "").match(/\w+|[^\s\w]/g).length;
    // Never sent before, since it begins with another comment each time.
    const points = await spent(`# ${Math.random()}\n${query}`);
    assert.ok(points >= tokens / TOKENS_OF_A_POINT, `${tokens} tokens for ${points} points`);
  });
}

test("what clients usually ask for is within the bounds of a server that nobody configured", async () => {
  const unconfigured = await start();
  const { token } = await unconfigured.register("ann");
  for (const [name, query] of Object.entries(USUAL)) {
    assert.equal((await unconfigured.post({ query }, bearer(token))).json.errors, undefined, name);
  }
});

test("what clients usually ask for is a small part of a default budget, and of what one operation may cost", async (context) => {
  for (const [name, query] of Object.entries(USUAL)) {
    const { json } = await server.post({ query }, bearer(ann.token));
    const cost = json.extensions.cost.requested;
    context.diagnostic(`${name}: ${cost}`);
    assert.ok(cost <= (name.startsWith("a page of 100") ? 35_000 : 7100), `${name}: ${cost}`);
  }
});
