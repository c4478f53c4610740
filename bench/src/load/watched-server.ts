import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Target } from "../client.ts";
import { COLLECT } from "./watch.ts";

/** The activity of a server since the previous request. */
export interface Watched {
  /**
   * The longest time that its event loop stood still, in milliseconds of its
   * thread: what others take of the processors is not in it.
   */
  readonly stopMs: number;
  /** The same by the clock on the wall. */
  readonly wallMs: number;
  /** Processor time, in milliseconds. */
  readonly cpuMs: number;
  /**
   * How long its thread could have run and others had the processors, in
   * milliseconds.
   */
  readonly waitMs: number;
  /** Resident memory now, in MB. */
  readonly residentMb: number;
  /** The most resident memory in that time, in MB. */
  readonly peakMb: number;
  /**
   * Of the memory now, objects of JavaScript, the pages that they lie in, and
   * what they hold outside of the heap.
   */
  readonly heapMb: number;
  readonly heapPagesMb: number;
  readonly externalMb: number;
  /** Open files and sockets now. */
  readonly descriptors: number;
  /**
   * 99 of 100 turns of the event loop since the start were late by at most this
   * many milliseconds, by the clock.
   */
  readonly delayP99Ms: number;
  /**
   * The event loop used at most this much processor time between 99 of 100
   * looks since the start, in milliseconds: the same on a busy machine.
   */
  readonly stopP99Ms: number;
}

/** A server in a process of its own, with a watch on its event loop. */
export interface WatchedServer extends Target, AsyncDisposable {
  readonly workspace: string;
  watch(): Promise<Watched>;
  /**
   * The same right after a collection of garbage, so that the heap holds what
   * lives and nothing else.
   */
  watchLive(): Promise<Watched>;
}

/** How a server is watched. */
export interface WatchOptions {
  /** The file that it runs; default: our server. */
  readonly main?: string;
  /** The interval of checks of its event loop in milliseconds; default: 2. */
  readonly tickMs?: number;
  /** The protection that it lacks; default: none. */
  readonly sabotage?: string;
}

/** Starts a server in a new directory. */
export async function startWatchedServer(
  options: WatchOptions = {},
): Promise<WatchedServer> {
  const { main = "loop-server.ts", tickMs = 2, sabotage = "" } = options;
  const workspace = mkdtempSync(join(tmpdir(), "devtool-load-"));
  const path = fileURLToPath(new URL(main, import.meta.url));
  const child = spawn(
    process.execPath,
    [path, workspace, `${tickMs}`, sabotage],
    {
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const lines = createInterface({ input: child.stdout })[
    Symbol.asyncIterator
  ]();
  const next = async () => JSON.parse((await lines.next()).value ?? "{}");
  const { url, token } = await next();
  const ask = (line: string): Promise<Watched> => {
    child.stdin.write(`${line}\n`);
    return next();
  };
  return {
    url,
    token,
    workspace,
    watch: () => ask(""),
    watchLive: () => ask(COLLECT),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await once(child, "exit");
      for (const path of [workspace, `${workspace}-data`]) {
        rmSync(path, { recursive: true, force: true });
      }
    },
  };
}
