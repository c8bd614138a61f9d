// What scripts/image-test.sh asks of a node: the page, an account, a post that shows in its author's timeline and list.
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

const somebody = 'handle: "somebody", name: "Somebody", password: "correct horse battery"';
const { registerUser } = await ask(`mutation { registerUser(input: { ${somebody} }) { token userErrors { message } } }`);
const { token, userErrors } = registerUser;
assert.deepEqual(userErrors, []);
const text = "Written to the image's volume.";
const { publishContent } = await ask(`mutation { publishContent(input: { text: "${text}" }) { userErrors { message } } }`, token);
assert.deepEqual(publishContent.userErrors, []);
const read = "{ timeline(first: 5) { edges { node { text } } } viewer { contents(first: 1) { edges { node { text } } } } }";
const { timeline, viewer } = await ask(read, token);
for (const { edges } of [timeline, viewer.contents]) assert.deepEqual(edges, [{ node: { text } }]);
for (const drawn of ["pictures/1", "avatars/1", "banners/1"]) assert.equal((await fetch(`${url}/${drawn}.svg`)).status, 404);
console.log("    The page, a timeline and a new post are served.");
