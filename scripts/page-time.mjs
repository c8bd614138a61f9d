// Prints how long a page of the demo's timeline takes on a running server, in milliseconds: the median of twenty.
// Usage: node page-time.mjs URL. Fails where there is no demo account.
const [url] = process.argv.slice(2);

async function ask(query, token) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const answer = await fetch(`${url}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  const { data, errors } = await answer.json();
  if (errors !== undefined) throw new Error(errors[0].message);
  return data;
}

const { signIn } = await ask('mutation { signIn(input: {handle: "demo", password: "demo-tidefeed"}) { token } }');
if (signIn.token === null) process.exit(1);
const page = `{ timeline(first: 20) { pageInfo { hasNextPage endCursor } edges { cursor node {
  id kind text createdAt likeCount replyCount repostCount viewerHasLiked media { kind url width height alt }
  author { id handle name avatarUrl viewerIsFollowing } } } } }`;
const times = [];
for (let turn = 0; turn < 25; turn += 1) {
  const began = performance.now();
  await ask(page, signIn.token);
  if (turn >= 5) times.push(performance.now() - began);
}
times.sort((one, other) => one - other);
console.log(times[times.length / 2].toFixed(1));
