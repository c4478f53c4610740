import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { EXTENSION_URI } from "@devtool/schema";
import type { Program } from "./run-program.ts";

/** A server of an official SDK that runs. */
export interface ForeignServer extends AsyncDisposable {
  readonly url: string;
}

/** A server of an official SDK that our client can talk to. */
export interface ForeignServerKind {
  readonly peer: string;
  /** Why it cannot be run here; undefined when it can. */
  readonly missing: string | undefined;
  start(): Promise<ForeignServer>;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** The official SDKs, each serving A2A 0.3 in its own way. */
export function foreignServers(): readonly ForeignServerKind[] {
  return [
    asProgram("@a2a-js/sdk 0.3.14", { command: process.execPath, args: [`${HERE}servers/server-03.ts`] }),
    asProgram("@a2a-js/sdk 1.3.0", { command: process.execPath, args: [`${HERE}servers/server-10.ts`] }),
    asProgram("Python a2a-sdk 0.3.26", python("0.3")),
    asProgram("Python a2a-sdk 1.3.0", python("1.0")),
    asProgram("Go a2a-go 0.3.3", { command: `${HERE}.bin/server-go`, args: [] }),
  ];
}

function asProgram(peer: string, program: Program): ForeignServerKind {
  const missing = existsSync(program.command) ? undefined : `${peer} is not here: run node scripts/interop.ts`;
  return { peer, missing, start: () => startProgram(program) };
}

function python(version: string): Program {
  const name = `server_${version.replace(".", "")}.py`;
  return { command: `${HERE}.venv-${version}/bin/python`, args: [`${HERE}servers/${name}`] };
}

/** Starts a program that tells its URL on the first line and ends when nobody writes to it any more. */
async function startProgram({ command, args }: Program): Promise<ForeignServer> {
  const env = { PATH: process.env.PATH, INTEROP_SCRIPT: `${HERE}agent.json`, INTEROP_EXTENSION: EXTENSION_URI };
  const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const close = async (): Promise<void> => {
    child.stdin.end();
    child.kill();
    await ended;
  };
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  for await (const chunk of child.stdout) {
    const url = /^(http:\S+)/.exec(String(chunk))?.[1];
    if (url !== undefined) return { url, [Symbol.asyncDispose]: close };
  }
  throw new Error(`${command} did not start: ${errors.slice(-2000)}`);
}
