// A real OpenID Connect issuer (npm's oidc-provider) as a process of its own: node oidc.mjs PORT KEYS PEOPLE. KEYS is a JSON Web Key Set,
// whose first key signs; PEOPLE the claims of its users by their subject, any password. Sends "listening" to its parent.
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const [port, keys, people] = process.argv.slice(2);
const claimed = JSON.parse(people);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "feed", redirect_uris: ["https://feed.example/back"], response_types: ["id_token"], grant_types: ["implicit"], token_endpoint_auth_method: "none", id_token_signed_response_alg: "ES256" }],
  jwks: JSON.parse(keys),
  cookies: { keys: ["a key of a test"] },
  claims: { openid: ["sub"], profile: ["name", "preferred_username", "picture", "updated_at"] },
  conformIdTokenClaims: false,
  findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId, ...claimed[accountId] }) }),
});
provider.on("server_error", (_context, error) => { console.error(error); });
createServer(provider.callback()).listen(Number(port), "127.0.0.1", () => { process.send("listening"); });
