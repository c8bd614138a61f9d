// Writes each file of dist/ that is worth it a second time, as .gz (gzip 9), and what the app's page loads a third time, as .br (brotli 11).
// The binary embeds the compressed forms alone: brotli saves a seventh, which is worth its bytes only where everybody waits for them.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const COMPRESSIBLE = /\.(css|html|js|json|svg|ttf|webmanifest)$/;
/** Below this the headers outweigh what is saved. */
const LEAST_BYTES = 1_024;

const dist = join(import.meta.dirname, "../dist");
const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const paths = files.map((entry) => join(entry.parentPath, entry.name)).filter((path) => !/\.(br|gz)$/.test(path));

/** The page itself and every file that it, or what it loads, names. */
const ofTheApp = new Set([join(dist, "index.html")]);
for (const page of ofTheApp) {
  for (const [, name] of readFileSync(page, "latin1").matchAll(/([\w.-]+\.(?:js|css))/g)) {
    const file = join(dist, "assets", name);
    if (paths.includes(file)) ofTheApp.add(file);
  }
}

for (const path of paths) {
  for (const form of [`${path}.gz`, `${path}.br`]) rmSync(form, { force: true });
  const bytes = readFileSync(path);
  if (!COMPRESSIBLE.test(path) || bytes.length < LEAST_BYTES) continue;
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  if (!ofTheApp.has(path)) continue;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
}
