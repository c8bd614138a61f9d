// Runs the binary as if it had been called itself.
import { spawn } from "node:child_process";
import { constants } from "node:os";

// The terminal sends SIGINT to the binary, too; the others come to this process alone.
const FORWARDED = ["SIGTERM", "SIGHUP"];

/**
 * Runs it to its end; resolves to its exit status, after a signal to 128 and its number, as a shell does.
 * `started`: is called with the child.
 */
export function run(binary, given, { env = process.env, started = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, given, { env, stdio: "inherit" });
    const forward = (signal) => { child.kill(signal); };
    const wait = () => {};
    for (const signal of FORWARDED) process.on(signal, forward);
    process.on("SIGINT", wait);
    const release = () => {
      for (const signal of FORWARDED) process.off(signal, forward);
      process.off("SIGINT", wait);
    };
    child.on("error", (error) => {
      release();
      reject(new Error(`${binary} cannot be run: ${error.message}`));
    });
    child.on("exit", (status, signal) => {
      release();
      resolve(status ?? 128 + constants.signals[signal]);
    });
    started(child);
  });
}
