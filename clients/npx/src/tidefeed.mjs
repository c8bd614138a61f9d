#!/usr/bin/env node
// The command of the package `tidefeed`: without arguments a server with a small world in it, else the binary itself
// with the same arguments.
import { binaryOf } from "./binary.mjs";
import { demo } from "./demo.mjs";
import { run } from "./run.mjs";

const given = process.argv.slice(2);
try {
  const binary = binaryOf(process.platform, process.arch);
  const isDemo = given.length === 0 || given[0] === "demo";
  process.exitCode = isDemo ? await demo(binary, given.slice(1)) : await run(binary, given);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
