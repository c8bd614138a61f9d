// Operations with their types, as docs/frontend.md sets them up: GraphQL Code Generator asks the real binary, and TypeScript refuses what does not fit.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { start } from "../clients/server.mjs";
import { QUICK_START, textOf } from "./guide.mjs";

/** The generator, TypeScript and React's types are those of the demo page. */
const modules = fileURLToPath(new URL("../../web-demo/node_modules", import.meta.url));

/** Each line that is expected to be an error must be one. A tree is typed as a text is. */
const USES = `import { createTidefeed, memoryStore } from "@tidefeed/client";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { graphql } from "./gql";

const client = createTidefeed({ url: "http://127.0.0.1:8080", store: memoryStore() });
const USER = graphql(\`query User($handle: String!) { user(handle: $handle) { name followerCount } }\`);
const VIEWER = graphql(\`query Whoami { viewer { id } }\`);

export async function read(tree: TypedDocumentNode<{ viewer: { id: string } | null }, { handle: string }>) {
  const name: string | undefined = client.query(USER, { handle: "ann" }, { outdatedBy: () => true }).getSnapshot().value?.user?.name;
  const { viewer } = await client.request(VIEWER);
  const id: string | undefined = client.query(tree, { handle: "ann" }).getSnapshot().value?.viewer?.id;
  const plain = client.query<{ viewer: null }>("{ viewer { id } }").getSnapshot().value?.viewer;
  // @ts-expect-error: a variable of another type
  client.query(USER, { handle: 1 });
  // @ts-expect-error: a variable that is missing
  await client.request(USER);
  // @ts-expect-error: a field that was not asked for
  const bio = (await client.request(USER, { handle: "ann" })).user?.bio;
  return [name, viewer?.id, id, plain, bio];
}
`;

const folder = mkdtempSync(path.join(tmpdir(), "tidefeed-typed-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("generated documents bring their types to query, request and useQuery", async () => {
  const server = await start();
  mkdirSync(path.join(folder, "src"));
  symlinkSync(modules, path.join(folder, "node_modules"));
  const compilerOptions = {
    strict: true, noEmit: true, jsx: "react-jsx", target: "es2022", module: "esnext", moduleResolution: "bundler", lib: ["es2023", "dom", "dom.iterable"], types: [], skipLibCheck: true,
  };
  const files = {
    "package.json": JSON.stringify({ type: "module" }), "tsconfig.json": JSON.stringify({ compilerOptions, include: ["src"] }),
    "codegen.ts": textOf("codegen.ts").replace("127.0.0.1:8080", server.address),
    "src/Profile.tsx": textOf("Profile.tsx"), "src/Composer.tsx": textOf("Composer.tsx"), "src/main.tsx": QUICK_START, "src/uses.tsx": USES,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  const run = (program, ...words) => {
    try {
      execFileSync(path.join(modules, ".bin", program), words, { cwd: folder, encoding: "utf8", stdio: "pipe" });
    } catch ({ stdout, stderr }) {
      assert.fail(`${program}: ${stdout}${stderr}`);
    }
  };
  run("graphql-codegen", "--config", "codegen.ts");
  run("tsc", "--project", ".");
});
