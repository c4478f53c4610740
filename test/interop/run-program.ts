import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { EXTENSION_URI } from "@devtool/schema";
import { type ClientTarget, isScenarioName, type ScenarioName, type ScenarioResult } from "./scenario.ts";

/** A program that plays scenarios with the SDK of another language. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
}

/** Runs a program against a server; it tells a line of JSON for each scenario. */
export async function runProgram(
  { command, args }: Program,
  target: ClientTarget,
  names: readonly ScenarioName[],
): Promise<ScenarioResult[]> {
  const env = {
    PATH: process.env.PATH,
    INTEROP_URL: target.url,
    INTEROP_TOKEN: target.token,
    INTEROP_BINDING: target.binding,
    INTEROP_PROTOCOL: target.protocol,
    INTEROP_FILE: target.file,
    INTEROP_HOOK: target.hook,
    INTEROP_EXTENSION: EXTENSION_URI,
  };
  const others = names.filter((name) => name !== "card");
  const { stdout } = await promisify(execFile)(command, [...args, ...others], { env, timeout: 120_000 });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map(resultIn);
}

function resultIn(line: string): ScenarioResult {
  const { scenario, ok, reason } = JSON.parse(line);
  if (!isScenarioName(scenario)) throw new Error(`scenario ${JSON.stringify(scenario)} is none of ours`);
  return { scenario, ok: ok === true, ...(typeof reason === "string" && { reason }) };
}
