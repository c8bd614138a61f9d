// The ten lines that docs/frontend.md begins with, as they stand there.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "../../../tests/clients/server.mjs";
import { mutate, publish, startServer } from "./world.mjs";

const guide = readFileSync(new URL("../../../docs/frontend.md", import.meta.url), "utf8");
const [, example] = /^```js file=timeline\.mjs\n([\s\S]*?)^```$/m.exec(guide);
const folder = new URL(".guide/", import.meta.url);

test("ten lines show a live timeline", async (context) => {
  const lines = example.trim().split("\n").filter((line) => line !== "");
  assert.ok(lines.length <= 10, `${lines.length} lines`);
  const server = await startServer();
  const bob = await server.register("bob");
  const { registerUser } = await server.data(`mutation {
    registerUser(input: { handle: "mara", name: "Mara", password: "a long enough one" }) { token userErrors { message } } }`);
  await mutate(server, "followUser", { userId: bob.id }, registerUser);
  await publish(server, "Low tide at six.", bob);
  mkdirSync(folder, { recursive: true });
  const file = new URL(`timeline.${process.pid}.mjs`, folder);
  writeFileSync(file, example.replace("127.0.0.1:8080", server.address));
  // A page has a WebSocket, and Node from version 22 on.
  const page = spawn(process.execPath, ["--import", new URL("page.mjs", import.meta.url).href, fileURLToPath(file)], { stdio: ["ignore", "pipe", "inherit"] });
  context.after(() => page.kill("SIGKILL"));
  let said = "";
  page.stdout.on("data", (text) => { said += text; });
  await until("what there was is shown", () => said.includes("bob: Low tide at six."));
  await publish(server, "High tide at noon.", bob);
  await until("what comes is shown", () => said.includes("[ 'bob: High tide at noon.', 'bob: Low tide at six.' ]"));
});
