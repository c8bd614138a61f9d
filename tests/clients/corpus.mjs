// Documents to hold prices against: drawn from the whole schema, long texts, descriptions of the schema, and what is meant to cost more than it
// pays for. With a world that fills their lists. Used by the suite `prices` and by bench/price.mjs.
import { readFileSync } from "node:fs";
import { getIntrospectionQuery, getNamedType, isAbstractType, isCompositeType, buildSchema } from "graphql";

export const schema = buildSchema(readFileSync(new URL("../../schema.graphql", import.meta.url), "utf8"));

/** Numbers from 0 to 1 (mulberry32). */
export function generator(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const picture = { kind: "PICTURE", url: "https://example.org/a.jpg", width: 1, height: 1, alt: "a" };
const loudest = { ...picture, url: `https://example.org/${"é".repeat(2000)}`, alt: "😀".repeat(1000) };
/** A post as long as posts may be that does not compress to nothing: 5,000 of 80 faces, each time others. */
const faces = (random) => Array.from({ length: 5000 }, () => String.fromCodePoint(0x1f600 + Math.floor(random() * 80))).join("");
const PUBLISH = "mutation($input: PublishContentInput!) { publishContent(input: $input) { timelineEdge { node { id } } } }";

/** Words that half of the posts of `chatter` have, each. */
export const COMMON = "the of and to in is it for on as at by be or an we he if no so up my me us all was are but not you his her had has one our out who its can may new".split(" ");
const some = (random, of, count) => Array.from({ length: count }, () => of[Math.floor(random() * of.length)]);
const letters = (from, count) => Array.from({ length: count }, (_, n) => String.fromCodePoint(from + n));
const words = (random, of, length) => some(random, Array.from({ length: 400 }, () => some(random, of, 2 + Math.floor(random() * 6)).join("")), length).join(" ");
/** Texts in the scripts of the world, of usual length and as long as posts may be: characters that are drawn as often as each other have most terms. */
export const SCRIPTS = {
  "140 characters of Chinese": (random) => some(random, letters(0x4e00, 2500), 140).join(""),
  "5,000 characters of Chinese": (random) => some(random, letters(0x4e00, 20_000), 5000).join(""),
  "5,000 characters of Korean": (random) => some(random, letters(0xac00, 2500), 5000).join(""),
  "5,000 characters of Thai": (random) => some(random, letters(0x0e01, 46), 5000).join(""),
  "280 characters of Arabic": (random) => words(random, letters(0x0627, 20), 40).slice(0, 280),
  "5,000 characters of Arabic": (random) => words(random, letters(0x0627, 20), 1000).slice(0, 5000),
  "5,000 characters of English": (random) => words(random, letters(0x61, 26), 1000).slice(0, 5000),
};
/** Posts that have each half of the common words. */
export async function chatter(server, who, count) {
  const random = generator(11);
  const publish = (text) => server.data(PUBLISH, { input: { text } }, who.token);
  for (let number = 0; number < count; number += 1) await publish(COMMON.filter(() => random() < 0.5).join(" "));
  // Two words that are in as many posts, and in none together.
  for (let number = 0; number < count; number += 1) await publish(number % 2 === 0 ? "ebb" : "flow");
}

/** People who follow each other, a thread, its answers and likes; `loud` posts as long as posts may be, by each of two whom nobody follows. */
export async function world(server, { crowd = 3, each = 0, depth = 12, replies = 30, loud = 0 } = {}) {
  const handles = ["ann", "bob", "cid", ...Array.from({ length: crowd - 3 }, (_, n) => `person_${n}`)];
  const people = [];
  for (const handle of handles) people.push(await server.register(handle));
  const [, bob, cid] = people;
  const act = (who, field, input) => server.data(`mutation { ${field}(input: ${input}) { userErrors { code } } }`, {}, who.token);
  const publish = async (who, input) => (await server.data(PUBLISH, { input: { text: "tide", ...input } }, who.token)).publishContent.timelineEdge.node.id;
  for (const who of people) for (const whom of people.slice(0, 3)) if (who !== whom) await act(who, "followUser", `{ userId: "${whom.id}" }`);
  for (const whom of people.slice(3)) for (const who of people.slice(0, 3)) await act(who, "followUser", `{ userId: "${whom.id}" }`);
  const thread = [await publish(bob, { media: [picture] })];
  for (let number = 0; number < depth; number += 1) thread.push(await publish(people[number % 3], { replyTo: thread.at(-1) }));
  for (let number = 0; number < replies; number += 1) await publish(people[number % 3], { replyTo: thread[0] });
  for (const who of people) {
    for (const id of thread) for (const field of ["likeContent", "bookmarkContent"]) await act(who, field, `{ contentId: "${id}" }`);
  }
  await act(cid, "repostContent", `{ contentId: "${thread[0]}" }`);
  for (let number = 0; number < each; number += 1) {
    for (const who of people) await publish(who, { text: `High water at ${number} past six, says ${who.handle}, and the boats go out.`, media: [picture] });
  }
  const crier = loud === 0 ? undefined : await server.register("crier");
  for (let number = 0; number < loud; number += 1) await publish(crier, { text: "😀".repeat(5000), media: Array.from({ length: 5 }, () => loudest) });
  const mimic = loud === 0 ? undefined : await server.register("mimic");
  const random = generator(7);
  for (let number = 0; number < loud; number += 1) await publish(mimic, { text: faces(random) });
  return { people, thread, ids: [...people.map(({ id }) => id), ...thread] };
}

/** A document over fields of Query, `deepest` deep at most, every composite field with a selection of its own. */
export function draw(random, { people, ids }, deepest = 6) {
  const under = (bound) => Math.floor(random() * bound);
  const one = (of) => of[under(of.length)];
  const VALUES = {
    externalId: () => "\"42\"", first: () => 1 + under(30), last: () => 1 + under(30), max: () => 1 + under(99), handle: () => `"${one(people).handle}"`, text: () => "\"tide\"",
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
  return `{ ${selection(schema.getQueryType(), deepest).join(" ")} }`;
}

const times = (count, each) => Array.from({ length: count }, (_, number) => each(number)).join(" ");
const CONTENT = "id kind text createdAt media { kind url width height alt } author { id handle name avatarUrl } replyCount likeCount repostCount bookmarkCount viewerHasLiked viewerHasReposted";

/** What clients ask for, by name. */
export const USUAL = {
  "nothing but a name": "{ __typename }",
  "who is asking": "{ viewer { id handle name } }",
  "a page of 20, as the guide asks for it": "{ timeline(first: 20) { resumeToken edges { cursor node { id text createdAt author { id name } } } pageInfo { hasNextPage startCursor endCursor } } }",
  "a page of 20 with everything": `{ timeline(first: 20) { edges { cursor node { ${CONTENT} repostOf { ${CONTENT} } } } pageInfo { hasNextPage endCursor } } }`,
  "a page of 100 with everything": `{ timeline(first: 100) { edges { cursor node { ${CONTENT} repostOf { ${CONTENT} } } } pageInfo { hasNextPage endCursor } } }`,
  "a profile": "{ user(handle: \"bob\") { id handle name bio avatarUrl followerCount followingCount contentCount viewerIsFollowing } }",
  "somebody's page": `{ user(handle: "bob") { name contents(first: 20) { nodes { ${CONTENT} } } } }`,
  "followers": "{ user(handle: \"bob\") { followers(first: 100) { edges { createdAt node { id handle name } } } } }",
  "a search": `{ search(text: "tide", first: 20) { nodes { ${CONTENT} } } }`,
};

/** Documents that ask for the longest texts there are, of the world's loud authors. */
export const LONG = {
  "20 longest texts of many faces": "{ user(handle: \"mimic\") { contents(first: 20) { nodes { text } } } }",
  "100 longest texts of many faces": "{ user(handle: \"mimic\") { contents(first: 100) { nodes { text } } } }",
  "20 longest texts": "{ user(handle: \"crier\") { contents(first: 20) { nodes { text } } } }",
  "20 longest texts, thrice": "{ user(handle: \"crier\") { contents(first: 20) { nodes { a: text b: text c: text } } } }",
  "20 longest sets of links": "{ user(handle: \"crier\") { contents(first: 20) { nodes { media { url alt } } } } }",
  "48 aliases of the longest text": `{ user(handle: "crier") { contents(first: 4) { nodes { ${times(48, (n) => `a${n}: text`)} } } } }`,
};

const ALL = getIntrospectionQuery({ descriptions: true, specifiedByUrl: true, inputValueDeprecation: true });

/** Descriptions of the schema. */
export const DESCRIPTIONS = {
  "the whole description": ALL,
  "names of types": "{ __schema { types { name } } }",
  "49 descriptions": `{ ${times(49, (n) => `a${n}: __schema { types { name description fields { name } } }`)} }`,
  "types of fields of types": "{ __schema { types { fields { type { fields { name description } } } } } }",
  "one type": "{ __type(name: \"User\") { name fields { name description args { name } type { name } } } }",
};

/** What makes much work out of few objects, and is answered. */
export const BOMBS = {
  "900 viewers": `{ ${times(900, () => "viewer{id}")} }`,
  "190 fragments": `{ ${times(190, (n) => `...f${n}`)} } ${times(190, (n) => `fragment f${n} on Query { viewer { id } }`)}`,
  "a chain of fragments": `{ ...f0 } ${times(9, (n) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`)} fragment f9 on Query { __typename }`,
  "1900 names": `{ ${times(1900, () => "__typename")} }`,
  "540 fields that are skipped, at each of 20": `{ timeline(first: 20) { nodes { id ${times(60, () => "...f")} } } } fragment f on Content { ${times(9, () => "text @skip(if: true)")} }`,
  "a comment of 60 kB": `{ __typename } #${"x".repeat(60_000)}`,
};

/** What is refused after it was read. */
export const REFUSED = {
  "1300 unknown fields": `{ ${times(1300, (n) => `viewe${n % 10}`)} }`,
  "40 unknown names of 250 letters": `{ ${times(40, (n) => `${"viewer".repeat(41)}${n}`)} }`,
  "a name of 65000 letters": `{ ${"n".repeat(65_000)} }`,
  "values in values": `{ user(handle: ${"[".repeat(1700)}${"]".repeat(1700)}) { id } }`,
  "a chain of 24 fragments": `{ ...f0 } ${times(24, (n) => `fragment f${n} on Query { ...f${n + 1} ...f${n + 1} }`)} fragment f24 on Query { __typename }`,
  "an open brace, late": `{ ${times(900, () => "a{b}")} {`,
};
