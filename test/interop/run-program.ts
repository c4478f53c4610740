import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { EXTENSION_URI } from "@devtool/schema";
import {
  type ClientTarget,
  isScenarioName,
  type ScenarioName,
  type ScenarioResult,
} from "./scenario.ts";

/** A program that plays scenarios with the SDK of another language. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** The file that must be installed for it. Default: the command. */
  readonly needs?: string;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));

/**
 * Returns why a program of a peer cannot run on this machine. Undefined if it
 * can.
 */
export function missingReason(
  peer: string,
  { command, needs = command }: Program,
): string | undefined {
  return existsSync(needs)
    ? undefined
    : `${peer} is not here: run npx -y pnpm@12 install:interop`;
}

/** Returns a program on the Rust SDK by the name of its binary. */
export function rustProgram(name: string): Program {
  return {
    command: `${HERE}../../bindings/rust/target/debug/${name}`,
    args: [],
  };
}

/** Returns the client on the Java SDK. */
export function javaClient(): Program {
  const jar = `${HERE}java/target/devtool-interop-0.1.0.jar`;
  return {
    command: "java",
    args: [...JVM, "-cp", `${jar}:${HERE}java/target/lib/*`, "Client03"],
    needs: jar,
  };
}

/** Returns the agent on the Java SDK. */
export function javaServer(): Program {
  const jar = `${HERE}java-server/target/quarkus-app/quarkus-run.jar`;
  return { command: "java", args: [...JVM, "-jar", jar], needs: jar };
}

/**
 * Options for a fast start of the JVM, because the programs run for seconds.
 */
const JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/**
 * Runs a program against a server. It prints a line of JSON for each scenario.
 */
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
  const { stdout } = await promisify(execFile)(command, [...args, ...others], {
    env,
    timeout: 120_000,
  });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map(resultIn);
}

function resultIn(line: string): ScenarioResult {
  const { scenario, ok, reason } = JSON.parse(line);
  if (!isScenarioName(scenario)) {
    throw new Error(`scenario ${JSON.stringify(scenario)} is none of ours`);
  }
  return {
    scenario,
    ok: ok === true,
    ...(typeof reason === "string" && { reason }),
  };
}
