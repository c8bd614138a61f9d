// The price that is told before an operation runs, held against what it really answers: documents drawn from the whole schema never answer more
// objects than they have paid points for. SEED repeats a run.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildSchema, getNamedType, isAbstractType, isCompositeType, isObjectType } from "graphql";
import { bearer, start } from "./server.mjs";

const DOCUMENTS = 500;
const DEPTH = 6;
const schema = buildSchema(readFileSync(new URL("../../schema.graphql", import.meta.url), "utf8"));
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Numbers from 0 to 1 (mulberry32). */
function generator(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const server = await start({ "graphql.max_cost": 10_000_000, "rate_limit.viewer_points": 1_000_000_000, "rate_limit.anonymous_points": 10_000_000 });
const people = await Promise.all(["ann", "bob", "cid"].map((handle) => server.register(handle)));
const [ann, bob, cid] = people;
const act = (who, field, input) => server.data(`mutation { ${field}(input: ${input}) { userErrors { code } } }`, {}, who.token);
const publish = async (who, more = "") => {
  const { publishContent } = await server.data(`mutation { publishContent(input: { text: "tide" ${more} }) { timelineEdge { node { id } } } }`, {}, who.token);
  return publishContent.timelineEdge.node.id;
};
for (const who of people) for (const whom of people) if (who !== whom) await act(who, "followUser", `{ userId: "${whom.id}" }`);
const picture = "media: [{ kind: PICTURE, url: \"https://example.org/a.jpg\", width: 1, height: 1, alt: \"a\" }]";
const thread = [await publish(bob, picture)];
for (let number = 0; number < 12; number += 1) thread.push(await publish(people[number % 3], `replyTo: "${thread.at(-1)}"`));
for (let number = 0; number < 30; number += 1) await publish(people[number % 3], `replyTo: "${thread[0]}"`);
for (const who of people) {
  for (const id of thread) for (const field of ["likeContent", "favouriteContent"]) await act(who, field, `{ contentId: "${id}" }`);
}
await act(cid, "repostContent", `{ contentId: "${thread[0]}" }`);
const ids = [...people.map(({ id }) => id), ...thread];

/** A document over fields of Query, `DEPTH` deep at most, every composite field with a selection of its own. */
function draw(random) {
  const under = (bound) => Math.floor(random() * bound);
  const one = (of) => of[under(of.length)];
  const VALUES = {
    first: () => 1 + under(30), last: () => 1 + under(30), max: () => 1 + under(99), handle: () => `"${one(people).handle}"`, text: () => "\"tide\"",
    id: () => `"${one(ids)}"`, author: () => `"${one(people).id}"`, ids: () => `["${one(ids)}", "${one(ids)}", "${one(ids)}"]`, after: () => "\"AQAAAAAAAAABAAAAAAAAAAE\"",
  };
  /** What must be given is, and sizes now and then. */
  const given = (field) => {
    const sizes = random() < 0.7 ? [one(["first", "last"])] : [];
    const wanted = field.args.filter(({ name, type }) => String(type).endsWith("!") || sizes.includes(name) || (name === "text" && field.name === "search"));
    return wanted.length === 0 ? "" : `(${wanted.map(({ name }) => `${name}: ${VALUES[name]()}`).join(", ")})`;
  };
  let drawn = 0;
  const selection = (type, depth) => {
    if (isAbstractType(type)) return ["__typename", ...schema.getPossibleTypes(type).map((it) => `... on ${it.name} { ${selection(it, depth).join(" ")} }`)];
    const fields = Object.values(type.getFields()).filter((field) => depth > 1 || !isCompositeType(getNamedType(field.type)));
    return ["__typename", ...Array.from({ length: 1 + under(3) }, () => {
      const field = one(fields);
      if (field === undefined) return "__typename";
      const named = getNamedType(field.type);
      const inner = isCompositeType(named) ? ` { ${selection(named, depth - 1).join(" ")} }` : "";
      return `f${drawn++}: ${field.name}${given(field)}${inner}`;
    })];
  };
  return `{ ${selection(schema.getQueryType(), DEPTH).join(" ")} }`;
}

/** The objects of an answer. */
function objects(value) {
  if (value === null || typeof value !== "object") return 0;
  const inner = (Array.isArray(value) ? value : Object.values(value)).reduce((sum, it) => sum + objects(it), 0);
  return inner + (Array.isArray(value) ? 0 : 1);
}

test(`no document answers more objects than it has paid for (SEED=${seed})`, async (context) => {
  const random = generator(seed);
  const seen = new Set();
  let [answered, paid, dearest] = [0, 0, 0];
  for (let number = 0; number < DOCUMENTS; number += 1) {
    const query = draw(random);
    const { json } = await server.post({ query }, bearer(ann.token));
    const cost = json.extensions?.cost?.requested;
    if (json.data === undefined && /QUERY_TOO_COMPLEX/.test(JSON.stringify(json.errors))) continue;
    assert.ok(json.data !== undefined && cost !== undefined, `${query}\n${JSON.stringify(json)}`);
    const count = objects(json.data);
    assert.ok(count <= cost, `${count} objects for ${cost} points: ${query}`);
    [answered, paid, dearest] = [answered + count, paid + cost, Math.max(dearest, count)];
    for (const [, name] of query.matchAll(/: (\w+)/g)) seen.add(name);
  }
  context.diagnostic(`${answered} objects for ${paid} points, ${dearest} at most`);
  assert.ok(dearest > 100, `the answers are too small to show anything: ${dearest}`);
  const composite = Object.values(schema.getQueryType().getFields()).concat(...["User", "Content"].map((name) => Object.values(schema.getType(name).getFields())))
    .filter(({ type }) => isObjectType(getNamedType(type))).map(({ name }) => name);
  assert.deepEqual(composite.filter((name) => !seen.has(name)), [], "fields that lead to objects and were never drawn");
});
