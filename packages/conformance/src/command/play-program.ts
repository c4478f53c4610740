import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { create, fromJsonString } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import type { CaseResult } from "../play/case-result.ts";
import type { ProgramStreams } from "../program/program.ts";
import { BindingSchema, KnownFailingSchema } from "../protos.ts";
import { runAgentSuite } from "../runner/run-agent-suite.ts";
import {
  type ClientSuiteOptions,
  runClientSuite,
} from "../runner/run-client-suite.ts";
import { runProgramSuite } from "../runner/run-program-suite.ts";
import { readInput } from "./files.ts";
import type { Host } from "./host.ts";
import type { Play } from "./play.ts";
import { limitMs, type ServerOptions } from "./play-server.ts";

/**
 * Reads a `binding.json` and prepares the program and client suites for its
 * program, with a server of its own.
 */
export async function playProgram(
  path: string,
  {
    startServer,
    cutEvery,
    ...options
  }: Pick<Host, "startServer"> &
    Pick<ServerOptions, "timeout"> &
    Pick<ClientSuiteOptions, "cutEvery">,
  signal: AbortSignal,
): Promise<Play> {
  const binding = await readInput(path, (text) =>
    fromJsonString(BindingSchema, text),
  );
  const { title, program, knownFailures } = binding;
  const words = program?.words ?? [];
  const [command, ...args] = words;
  if (command === undefined) {
    throw new Error(
      `${path} names no program: add "program": {"words": ["…"]}`,
    );
  }
  return {
    suite: "JSON, client and resume",
    subject: { name: words.join(" "), agent: title, agentVersion: "" },
    known: create(KnownFailingSchema, {
      failures: knownFailures.map(({ id, reason }) => ({ id, reason })),
    }),
    notes: [],
    results: programResults(
      { command, args, path, startServer },
      defined({ timeoutMs: limitMs(options), cutEvery }),
      signal,
    ),
  };
}

interface ProgramCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The path of its `binding.json`, in whose directory it runs. */
  readonly path: string;
  readonly startServer: Host["startServer"] | undefined;
}

async function* programResults(
  { command, args, path, startServer }: ProgramCommand,
  { cutEvery, ...limit }: Pick<ClientSuiteOptions, "timeoutMs" | "cutEvery">,
  signal: AbortSignal,
): AsyncIterable<CaseResult> {
  const workspace = await mkdtemp(join(tmpdir(), "devtool-program-"));
  const running = spawn(command, args, {
    cwd: dirname(resolve(path)),
    stdio: ["pipe", "pipe", "inherit"],
    signal,
  });
  // Rejects when the program cannot be started or has ended, and never resolves.
  const failed = once(running, "exit").then(
    ([code, ended]): never => {
      const how =
        code === null ? `was ended by ${ended}` : `exited with ${code}`;
      throw new Error(
        `program ${JSON.stringify(command)} ${how}, and has to answer until its standard input ends`,
      );
    },
    (cause: unknown): never => {
      const remedy = `build the binding first (npx -y pnpm@12 bindings LANGUAGE), or correct ${path}`;
      throw new Error(
        `program ${JSON.stringify(command)} cannot be run: ${remedy}: ${cause}`,
        { cause },
      );
    },
  );
  failed.catch(() => undefined);
  try {
    await using server = await startServer?.(workspace);
    const streams = programStreams(running, failed);
    yield* runProgramSuite(streams, signal, {
      ...limit,
      ...defined({ server }),
    });
    const cut = { ...limit, ...defined({ cutEvery }) };
    yield* runClientSuite(streams, signal, cut);
    for (const binding of ["JSONRPC", "HTTP+JSON"] as const) {
      yield* runClientSuite(streams, signal, {
        ...cut,
        over: { protocolVersion: "1.0", binding },
      });
    }
    yield* runAgentSuite(streams, signal, limit);
  } finally {
    running.stdin?.destroy();
    running.kill();
    await rm(workspace, { recursive: true, force: true });
  }
}

/**
 * Returns the streams of a program. Writing and reading reject when the program
 * has failed.
 */
function programStreams(
  { stdin, stdout }: ChildProcess,
  failed: Promise<never>,
): ProgramStreams {
  if (!stdin || !stdout) throw new Error("the program has no standard streams");
  // The end of its output reports that a program has ended.
  stdin.on("error", () => undefined);
  async function* readOutput(
    chunks: AsyncIterable<Uint8Array>,
  ): AsyncIterable<Uint8Array> {
    const iterator = chunks[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await Promise.race([iterator.next(), failed]);
      // Its exit says more than the end of its output.
      if (done) return await failed;
      yield value;
    }
  }
  return {
    async write(bytes) {
      if (stdin.write(bytes)) return;
      // After an error of the pipe, what is read says how the program ended.
      const written = [once(stdin, "drain"), once(stdin, "close")].map(
        (event) => event.catch(() => undefined),
      );
      await Promise.race([...written, failed]);
    },
    output: readOutput(stdout),
  };
}
