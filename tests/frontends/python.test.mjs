// docs/python.md: its program, run by Python with the packages of python.txt, against a server that is killed and started again, and that hangs, meanwhile. Without Python it
// says so and is skipped; in CI that is a failure.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { start, until } from "../clients/server.mjs";
import { pythonWithPackages } from "./python.mjs";
import { publish } from "./world.mjs";

const FOLLOW = "mutation($id: ID!) { followUser(input: { userId: $id }) { userErrors { message } } }";
const DELETE = "mutation($id: ID!) { deleteContent(input: { contentId: $id }) { userErrors { message } } }";
const program = readFileSync(new URL("../../docs/python.md", import.meta.url), "utf8").match(/^```python file=timeline\.py\n([\s\S]*?)^```$/m)[1];

const python = pythonWithPackages();
const skip = python === null && process.env.CI === undefined ? "no python3 from 3.11 on with venv: install it to run this suite" : false;

test("the program of docs/python.md prints what the timeline shows, also after a crash and a server that hung", { skip }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-python-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const settings = { "store.url": `sqlite://${path.join(folder, "world.db")}` };
  let server = await start(settings);
  const author = await server.register("author");
  const reader = await server.register("reader");
  await server.data(FOLLOW, { id: author.id }, reader.token);
  const one = await publish(server, author, "one");

  writeFileSync(path.join(folder, "timeline.py"), program);
  const running = spawn(python, ["timeline.py", `http://${server.address}`, "reader", "correct horse battery"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  after(() => running.kill("SIGKILL"));
  const [shown, said] = [[], []];
  createInterface({ input: running.stdout }).on("line", (line) => shown.push(line));
  createInterface({ input: running.stderr }).on("line", (line) => said.push(line));
  const shows = (...texts) => until(`it shows ${texts}; it said ${said}`, () => shown.at(-1) === JSON.stringify(texts).replaceAll("\",", "\", "));

  await shows("one");
  const two = await publish(server, author, "two");
  await shows("two", "one");
  await server.data(DELETE, { id: one }, author.token);
  await shows("two");

  const { address } = server;
  await server.stop("SIGKILL");
  server = await start({ ...settings, "server.listen": address });
  await publish(server, author, "three");
  await shows("three", "two");
  await server.data(DELETE, { id: two }, author.token);
  await shows("three");

  const before = said.length;
  server.hang();
  await until("it notices that the server hangs", () => said.slice(before).some((line) => line.startsWith("again in")));
  server.goOn();
  await publish(server, author, "four");
  await shows("four", "three");
  assert.equal(running.exitCode, null, said.join("\n"));
});
