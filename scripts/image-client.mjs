// What scripts/image-test.sh asks of a seeded node: the page, a timeline, and a post that shows in the author's own.
import assert from "node:assert/strict";

const [url] = process.argv.slice(2);

async function ask(query, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await fetch(`${url}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  const { data, errors } = await answer.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

const page = await fetch(url);
assert.equal(page.status, 200);
assert.match(await page.text(), /<script type="module"/, "the binary has no built pages");

const { signIn } = await ask('mutation { signIn(input: { handle: "demo", password: "demo-tidefeed" }) { token } }');
const { timeline } = await ask("{ timeline(first: 5) { edges { node { id } } } }", signIn.token);
assert.equal(timeline.edges.length, 5);
const text = "Written to the image's volume.";
const { publishContent } = await ask(`mutation { publishContent(input: { text: "${text}" }) { userErrors { message } } }`, signIn.token);
assert.deepEqual(publishContent.userErrors, []);
const { viewer } = await ask("{ viewer { contents(first: 1) { edges { node { text } } } } }", signIn.token);
assert.equal(viewer.contents.edges[0].node.text, text);
console.log("    The page, a timeline and a new post are served.");
