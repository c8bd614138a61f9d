// Finds the binary: each platform has a package of its own, and npm installs the one that fits.
import { createRequire } from "node:module";

const { optionalDependencies } = createRequire(import.meta.url)("../package.json");

/** Path of the binary for a platform and an architecture, as Node names them. Throws an error that says what to do. */
export function binaryOf(platform, architecture) {
  const name = `@tidefeed/cli-${platform}-${architecture}`;
  if (!(name in optionalDependencies)) {
    const all = Object.keys(optionalDependencies).map((one) => one.replace("@tidefeed/cli-", "")).join(", ");
    const wsl = platform === "win32" ? " On Windows, use it within WSL." : "";
    const lacking = `Tidefeed has no binary for ${platform}-${architecture}, only for ${all}.`;
    throw new Error(`${lacking}${wsl} Elsewhere it is built with Rust (make release).`);
  }
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/tidefeed`);
  } catch {
    const lacking = `The package ${name}, which holds the binary, is not installed.`;
    throw new Error(`${lacking} Install again without --omit=optional: npm install tidefeed`);
  }
}
