// What a point costs the processor: the corpus of tests/clients over a world that fills its lists, asked one by one of a node of its own. For each
// document the time of all the node's threads, over the points that it pays, as a ratio to the median. `--quick` shows in a small world, and in
// any build, that the table can be made. Linux: reads /proc.
import { readFileSync, readdirSync } from "node:fs";
import { Agent, request } from "node:http";
import { BOMBS, COMMON, DESCRIPTIONS, LONG, REFUSED, SCRIPTS, USUAL, chatter, draw, generator, world } from "../tests/clients/corpus.mjs";
import { start } from "../tests/clients/server.mjs";
import { Socket } from "../tests/clients/socket.mjs";

const quick = process.argv.includes("--quick");
const DRAWN = quick ? 5 : 150;
/** Each figure is the median of this many, each over requests for so long or so many. */
const [ROUNDS, ROUND_MS, MOST] = quick ? [1, 5, 1] : [5, 60, 400];
const BOUND = 5;
const WORLD = quick ? { crowd: 3, depth: 3, replies: 3, loud: 3 } : { crowd: 40, each: 30, depth: 50, replies: 100, loud: 100 };

const server = await start({
  "graphql.max_cost": 10_000_000, "rate_limit.viewer_points": 1_000_000_000, "rate_limit.viewer_points_per_s": 1, "rate_limit.service_points": 10_000_000, "rate_limit.anonymous_points": 100_000_000,
  "log.filter": "info",
});
const began = Date.now();
const inhabitants = await world(server, WORLD);
const [ann] = inhabitants.people;
await chatter(server, await server.register("chatterer"), quick ? 5 : 4000);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Nanoseconds that each thread had run when it was last seen: what ended threads have run counts on. */
const threads = new Map();
/** Nanoseconds that the node's threads have run. */
function ran() {
  const tasks = `/proc/${server.pid}/task`;
  for (const task of readdirSync(tasks)) {
    try {
      threads.set(task, Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]));
    } catch (error) {
      // It has ended since it was listed.
      if (error.code !== "ENOENT" && error.code !== "ESRCH") throw error;
    }
  }
  return [...threads.values()].reduce((sum, it) => sum + it, 0);
}

/** The bytes of the answer, and what it tells of the price. */
function ask(query, encoding, variables) {
  const body = JSON.stringify({ query, variables });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body), authorization: `Bearer ${ann.token}`, "accept-encoding": encoding };
  return new Promise((resolve, reject) => {
    const asked = request(server.url, { method: "POST", agent, headers }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part)).on("error", reject).on("end", () => {
        const bytes = Buffer.concat(parts);
        const told = encoding === "identity" ? JSON.parse(bytes) : {};
        resolve({ bytes: bytes.length, data: told.data, cost: told.extensions?.cost, code: told.errors?.[0].extensions.code });
      });
    });
    asked.on("error", reject).end(body);
  });
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
let asked = 0;
/** The document, as nobody has sent it before. */
const anew = (query) => `#${asked++}\n${query}`;

/** What one request takes, in microseconds of the processor. */
async function time(query, isKnown, encoding) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [from, before] = [Date.now(), ran()];
    let count = 0;
    while (count === 0 || (count < MOST && Date.now() - from < ROUND_MS)) {
      await ask(isKnown ? query : anew(query), encoding);
      count += 1;
    }
    rounds.push((ran() - before) / count / 1000);
  }
  return median(rounds);
}

const probe = async () => (await ask("{ __typename }", "identity")).cost;
/** What has been paid for one request, read out of the bucket. */
async function paid(query) {
  const before = await probe();
  const { code } = await ask(query, "identity");
  const after = await probe();
  return { points: before.remaining - after.remaining - after.requested, code };
}

const random = generator(1);
const drawn = Object.fromEntries(Array.from({ length: DRAWN }, (_, number) => [`drawn, ${number}`, draw(random, inhabitants)]));
const rows = [];
async function row(name, query, isKnown, encoding = "identity") {
  if (isKnown) await ask(query, "identity");
  const { points, code } = await paid(isKnown ? query : anew(query));
  const us = await time(query, isKnown, encoding);
  rows.push({ name: `${name}${isKnown ? "" : ", unknown"}${encoding === "identity" ? "" : `, ${encoding}`}${code === undefined ? "" : `: ${code}`}`, points, us, each: points > 0 ? us / points : Infinity });
}
const [subject] = inhabitants.thread;
/** With what follows in the background: a post is delivered to all who follow. */
const WRITES = {
  "a post": "mutation { publishContent(input: { text: \"High water at six.\" }) { timelineEdge { node { id } } } }",
  "a like, given and taken back": `mutation { likeContent(input: { contentId: "${subject}" }) { userErrors { code } } unlikeContent(input: { contentId: "${subject}" }) { userErrors { code } } }`,
};
const SEARCHES = Object.fromEntries(Object.entries({
  "a search of 24 common words": COMMON.slice(0, 24).join(" "),
  "a search of 8 common words": COMMON.slice(0, 8).join(" "),
  "a search of 2 common words": COMMON.slice(0, 2).join(" "),
  "a search of 2 common words that never meet": "ebb flow",
  "a search of one common word": "the",
}).map(([name, text]) => [name, `{ search(text: "${text}", first: 20) { nodes { id } } }`]));

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
/** Waits until what was published and removed is indexed: then the node rests. */
async function settled() {
  const [TIMES, PAUSE_MS, RESTS_US] = [60, 700, 10_000];
  for (let time = 0; time < TIMES; time += 1) {
    const before = ran();
    await sleep(PAUSE_MS);
    if ((ran() - before) / 1000 < RESTS_US) return;
  }
  throw new Error("the node does not come to rest");
}
const POSTS = quick ? 1 : 4;
/** A text as it is published and, if so, removed: with what follows in the background. */
async function writing(name, text, isRemoved) {
  const random = generator(3);
  const rounds = [];
  let points = 0;
  for (let round = 0; round < Math.min(ROUNDS, 3); round += 1) {
    await settled();
    const before = ran();
    points = 0;
    for (let count = 0; count < POSTS; count += 1) {
      const paid = async (query, variables) => {
        const { cost, data } = await ask(query, "identity", variables);
        points += cost.requested / POSTS;
        return data;
      };
      const { publishContent } = await paid("mutation($text: String!) { publishContent(input: { text: $text }) { timelineEdge { node { id } } } }", { text: text(random) });
      if (isRemoved) await paid("mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { code } } }", { id: publishContent.timelineEdge.node.id });
    }
    await settled();
    rounds.push((ran() - before) / POSTS / 1000);
  }
  const us = median(rounds);
  rows.push({ name: `${name}${isRemoved ? ", published and removed" : ", published"}`, points, us, each: us / points });
}
/** Operations over one socket that also carries subscriptions which follow the list, with what these read again. */
async function overSocket(name, subscriptions, operations) {
  const socket = await Socket.ready(server, ann.token);
  const { data } = await ask("{ timeline(first: 20) { resumeToken } }", "identity");
  const watch = `subscription { newFeed(after: "${data.timeline.resumeToken}") { __typename } }`;
  for (let number = 0; number < subscriptions; number += 1) socket.subscribe(`watching ${number}`, watch);
  const figures = [];
  for (let round = 0; round < Math.min(ROUNDS, 3); round += 1) {
    await settled();
    const [bucket, before] = [await probe(), ran()];
    for (let count = 0; count < POSTS; count += 1) {
      for (const [place, query] of operations.entries()) {
        const id = [round, count, place].join(" ");
        socket.subscribe(id, query);
        await socket.whole(id);
      }
    }
    await settled();
    const [us, after] = [(ran() - before) / POSTS / 1000, await probe()];
    figures.push({ points: (bucket.remaining - after.remaining - after.requested) / POSTS, us });
  }
  socket.close();
  const [points, us] = [median(figures.map((it) => it.points)), median(figures.map((it) => it.us))];
  rows.push({ name, points, us, each: us / points });
}
const muted = await ask("{ viewer { following(first: 1) { nodes { id } } } }", "identity");
const change = (field) => `mutation { ${field}(input: { userId: "${muted.data.viewer.following.nodes[0].id}" }) { userErrors { code } } }`;
const RELATIONS = ["muteUser", "unmuteUser", "unfollowUser", "followUser"].map(change);
for (const subscriptions of [0, 1, 8]) await overSocket(`a mute and an unfollow, taken back, beside ${subscriptions} subscriptions`, subscriptions, RELATIONS);
await overSocket("who is asking, 100 times over a socket", 0, Array.from({ length: quick ? 2 : 100 }, () => "{ viewer { id } }"));
for (const [name, text] of Object.entries(SCRIPTS).slice(0, quick ? 2 : undefined)) for (const isRemoved of [false, true]) await writing(name, text, isRemoved);
for (const [name, query] of Object.entries({ ...drawn, ...USUAL, ...LONG, ...DESCRIPTIONS, ...BOMBS, ...WRITES, ...SEARCHES })) {
  await row(name, query, true);
  await row(name, query, false);
}
for (const [name, query] of Object.entries(REFUSED)) await row(name, query, false);
for (const [name, query] of Object.entries({ ...USUAL, ...LONG })) {
  await row(name, query, true, "gzip");
}

const middle = median(rows.map(({ each }) => each));
rows.sort((a, b) => b.each - a.each);
const isNamed = ({ name }, place) => place < 20 || !name.startsWith("drawn");
const line = (cells) => { process.stdout.write(`| ${cells.join(" | ")} |\n`); };
line(["document", "points", "us", "us a point", "of the median"]);
line(["---", "---", "---", "---", "---"]);
for (const { name, points, us, each } of rows.filter(isNamed)) line([name, points, us.toFixed(0), each.toFixed(1), (each / middle).toFixed(2)]);
const beyond = rows.filter(({ each }) => each > BOUND * middle);
process.stdout.write(`\nThe median of ${rows.length} is ${middle.toFixed(1)} us a point; ${beyond.length} are above ${BOUND} times that. ${((Date.now() - began) / 1000).toFixed(0)} s.\n`);
agent.destroy();
await server.stop();
process.exit(0);
