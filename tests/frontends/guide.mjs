// The examples of docs/frontend.md, written to files so that they run as they stand there.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";

const folder = new URL(".guide/", import.meta.url);
const guide = readFileSync(new URL("../../docs/frontend.md", import.meta.url), "utf8");
const BLOCK = /^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm;

/** What the README of @tidefeed/react begins with. */
export const [, QUICK_START] = /^```tsx file=main\.tsx\n([\s\S]*?)^```$/m.exec(readFileSync(new URL("../../clients/react/README.md", import.meta.url), "utf8"));

/** By file name. */
const examples = new Map([...guide.matchAll(BLOCK)].map(([, name, text]) => [name, text]));

/** The text of the guide's example. */
export function textOf(name) {
  const text = examples.get(name);
  if (text === undefined) throw new Error(`docs/frontend.md has no example ${name}`);
  return text;
}

// All of them at once, since some use others; each by a rename, since another suite may be reading it at this moment.
mkdirSync(folder, { recursive: true });
for (const [name, text] of examples) {
  const written = new URL(`${name}.${process.pid}`, folder);
  writeFileSync(written, text);
  renameSync(written, new URL(name, folder));
}

/** Where the guide's example lies as a file, beside this one's packages. */
export function fileOf(name) {
  textOf(name);
  return new URL(name, folder);
}

/** The guide's example as a module. */
export const moduleOf = (name) => import(fileOf(name));

export const namesOf = () => [...examples.keys()];
