#!/usr/bin/env node
/**
 * What turbo and scripts start as `pnpm`: the pnpm that runs them. npm 12 runs
 * no install scripts, so the `pnpm` of `npx` stays a text for a shell there,
 * which turbo cannot start.
 */
import { spawnSync } from "node:child_process";

const { npm_execpath: pnpm = "" } = process.env;
const ended = spawnSync(pnpm, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) throw ended.error;
process.exitCode = ended.status ?? 1;
