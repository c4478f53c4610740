#!/usr/bin/env node
/**
 * What turbo and scripts start as `pnpm`: the pnpm that runs them. npm 12 runs
 * no install scripts, so the `pnpm` of `npx` stays a text for a shell there,
 * which turbo cannot start.
 */
import { spawnSync } from "node:child_process";

const { npm_execpath: pnpm = "" } = process.env;
if (pnpm === "") {
  console.error(
    "npm_execpath is not set: start this by a pnpm, as in npx -y pnpm@12 build",
  );
  process.exit(1);
}
// A pnpm that npm installed is JavaScript, which not every system starts.
const isScript = /\.[cm]?js$/.test(pnpm);
const [program, ...args] = isScript ? [process.execPath, pnpm] : [pnpm];
const words = [...args, ...process.argv.slice(2)];
const ended = spawnSync(program, words, { stdio: "inherit" });
if (ended.error) throw ended.error;
process.exitCode = ended.status ?? 1;
