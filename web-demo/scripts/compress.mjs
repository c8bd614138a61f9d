// Writes each file of dist/ that is worth it a second and a third time: .br (brotli 11) and .gz (gzip 9). The binary embeds all three.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const COMPRESSIBLE = /\.(css|html|js|json|svg|ttf)$/;
/** Below this the headers outweigh what is saved. */
const LEAST_BYTES = 1_024;

const dist = join(import.meta.dirname, "../dist");
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (!entry.isFile() || !COMPRESSIBLE.test(path)) continue;
  const bytes = readFileSync(path);
  if (bytes.length < LEAST_BYTES) continue;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
