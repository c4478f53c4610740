import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { EXTENSION_URI } from "@devtool/schema";
import type { KnownFailures } from "./matrix.ts";
import type { Spoken } from "./our-client.ts";
import {
  javaServer,
  missingReason,
  type Program,
  rustProgram,
} from "./run-program.ts";

/** A running server of an official SDK. */
export interface ForeignServer extends AsyncDisposable {
  readonly url: string;
}

/** A server of an official SDK, over one version and binding of A2A. */
export interface ForeignServerKind extends Spoken {
  readonly peer: string;
  /**
   * The scenarios that the SDK itself fails, with reasons. They are played too,
   * and one that passes fails the test.
   */
  readonly known: KnownFailures;
  /** Why it cannot run on this machine. Undefined if it can. */
  readonly missing: string | undefined;
  /**
   * Starts the server. Its agent follows a file of scripts, by default the one
   * that the scenarios expect. Its card claims what `claims` names: some of
   * `streaming`, `push` and `extension`, by default all.
   */
  start(script?: string, claims?: string): Promise<ForeignServer>;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));

const V03_RPC: readonly Spoken[] = [{ protocol: "0.3", binding: "JSONRPC" }];
const V03_REST: readonly Spoken[] = [{ protocol: "0.3", binding: "HTTP+JSON" }];
const V1: readonly Spoken[] = ["JSONRPC", "HTTP+JSON", "GRPC"].map(
  (binding) => ({ protocol: "1.0", binding }),
);

const PYTHON_03_PUSH =
  "over HTTP+JSON it lists no configs (its handler says it is not implemented) and deletes none";
const PYTHON_10_PUSH =
  "its bridge to 0.3 over HTTP+JSON has no path to delete a config";

/**
 * The official SDKs, over each version and binding that devtool's client
 * supports.
 */
export function foreignServers(): readonly ForeignServerKind[] {
  return [
    ...each(
      [...V03_RPC, ...V03_REST],
      asProgram("@a2a-js/sdk 0.3.14", node("server-03.ts")),
    ),
    ...each(
      [...V03_RPC, ...V03_REST, ...V1],
      asProgram("@a2a-js/sdk 1.3.0", node("server-10.ts")),
    ),
    ...each(V03_RPC, asProgram("Python a2a-sdk 0.3.26", python("0.3"))),
    ...each(V03_REST, asProgram("Python a2a-sdk 0.3.26", python("0.3")), {
      push: PYTHON_03_PUSH,
    }),
    ...each(
      [...V03_RPC, ...V1],
      asProgram("Python a2a-sdk 1.3.0", python("1.0")),
    ),
    ...each(V03_REST, asProgram("Python a2a-sdk 1.3.0", python("1.0")), {
      push: PYTHON_10_PUSH,
    }),
    ...each(
      V03_RPC,
      asProgram("Go a2a-go 0.3.3", {
        command: `${HERE}.bin/server-go`,
        args: [],
      }),
    ),
    ...each(
      V1,
      asProgram("Go a2a-go 2.4.0", {
        command: `${HERE}.bin/server-go-v2`,
        args: [],
      }),
    ),
    ...each(
      [...V03_RPC, ...V03_REST],
      asProgram("Java a2a-java-sdk 0.3.3", javaServer()),
    ),
    ...each(V1, asProgram("Rust a2a-server-lf 0.5.3", rustProgram("server"))),
  ];
}

type Peer = Omit<ForeignServerKind, keyof Spoken | "known">;

function each(
  spoken: readonly Spoken[],
  peer: Peer,
  known: KnownFailures = {},
): ForeignServerKind[] {
  return spoken.map((item) => ({ ...peer, ...item, known }));
}

function asProgram(peer: string, program: Program): Peer {
  return {
    peer,
    missing: missingReason(peer, program),
    start: (script, claims) => startProgram(program, script, claims),
  };
}

function node(name: string): Program {
  return { command: process.execPath, args: [`${HERE}servers/${name}`] };
}

function python(version: string): Program {
  const name = `server_${version.replace(".", "")}.py`;
  return {
    command: `${HERE}.venv-${version}/bin/python`,
    args: [`${HERE}servers/${name}`],
  };
}

/**
 * Starts a program that prints its URL on the first line and ends when its
 * standard input is closed.
 */
async function startProgram(
  { command, args }: Program,
  script = `${HERE}agent.json`,
  claims = "streaming push extension",
): Promise<ForeignServer> {
  const env = {
    PATH: process.env.PATH,
    INTEROP_SCRIPT: script,
    INTEROP_CLAIMS: claims,
    INTEROP_EXTENSION: EXTENSION_URI,
  };
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
