// The Python that python.test.mjs runs, with the packages of python.txt. As a program it makes the environment ahead of the tests: `node python.mjs`.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const wanted = fileURLToPath(new URL("python.txt", import.meta.url));

/** The Python of an environment that has the packages; kept as long as they are the same. Null if this machine has no Python that can make one. */
export function pythonWithPackages() {
  const folder = fileURLToPath(new URL(".python/", import.meta.url));
  const [python, installed] = [path.join(folder, "bin/python"), path.join(folder, "installed.txt")];
  if (existsSync(installed) && readFileSync(installed, "utf8") === readFileSync(wanted, "utf8")) return python;
  rmSync(folder, { recursive: true, force: true });
  try {
    execFileSync("python3", ["-c", "import sys, ensurepip; assert sys.version_info >= (3, 11)"], { stdio: "pipe" });
  } catch {
    return null;
  }
  execFileSync("python3", ["-m", "venv", folder], { stdio: "pipe" });
  execFileSync(python, ["-m", "pip", "install", "--quiet", "--requirement", wanted], { stdio: "pipe" });
  writeFileSync(installed, readFileSync(wanted));
  return python;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) pythonWithPackages();
