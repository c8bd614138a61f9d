// A real OpenID Connect issuer (oidc.mjs) on a free port, and a person who signs in there. Ended with the test file.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { after } from "node:test";

/** A key that signs, as a JSON Web Key. */
export const signingKey = (kid) => ({ ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" });

export async function freePort() {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address();
  taken.close();
  await once(taken, "close");
  return port;
}

export class Issuer {
  #running;
  #port;

  static async atFreePort() {
    const issuer = new Issuer();
    issuer.#port = await freePort();
    issuer.url = `http://127.0.0.1:${issuer.#port}`;
    after(() => issuer.#running?.kill());
    return issuer;
  }

  /** Begins with these keys, of which the first signs, and the claims of its users by their subject; in the former one's place. */
  async begin(keys, people) {
    this.#running?.kill();
    if (this.#running !== undefined) await once(this.#running, "exit");
    this.#running = spawn(process.execPath, ["oidc.mjs", String(this.#port), JSON.stringify({ keys }), JSON.stringify(people)], { cwd: import.meta.dirname, stdio: ["ignore", "ignore", "inherit", "ipc"] });
    await once(this.#running, "message");
  }

  /** The token that a browser would bring back after its user has signed in and agreed. */
  async signIn(subject) {
    const cookies = new Map();
    const visit = async (url, form) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(new URL(url, this.url), { redirect: "manual", headers: { cookie }, ...(form && { method: "POST", body: new URLSearchParams(form) }) });
      for (const set of response.headers.getSetCookie()) {
        const [name, value] = set.split(";")[0].split(/=(.*)/s);
        cookies.set(name, value);
      }
      return response.headers.get("location") ?? assert.fail(`${url}: ${response.status} ${await response.text()}`);
    };
    const asked = new URLSearchParams({ client_id: "feed", response_type: "id_token", scope: "openid profile", redirect_uri: "https://feed.example/back", nonce: String(Math.random()) });
    let at = await visit(`/auth?${asked}`);
    for (const form of [{ prompt: "login", login: subject, password: "any" }, { prompt: "consent" }]) at = await visit(await visit(at, form));
    return new URLSearchParams(new URL(at).hash.slice(1)).get("id_token") ?? assert.fail(at);
  }
}
