import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Tool } from "@devtool/coding-agent";
import { type McpServer, McpServerSchema } from "@devtool/schema";
import { collectGarbage } from "../collect-garbage.ts";
import { COMPILE_CACHE } from "../compile-cache-variable.ts";
import { play, serversOf } from "./servers.ts";
import { startOfProcess } from "./start-of-process.ts";

/** The required result of each server fault: an output, or a type of error. */
export const FAULTS = {
  crash: ["mcp_tool_error"],
  signal: ["mcp_tool_error"],
  hang: ["timeout"],
  // The first call runs out of time; one that is made before the server is
  // given up ends with it.
  freeze: ["timeout", "mcp_tool_error"],
  flood: ["mcp_tool_error"],
  progress: ["output"],
  line: ["mcp_tool_error"],
  change: ["output"],
  stderr: ["output"],
  half: ["mcp_tool_error"],
  // A text in place of a list of content is its text.
  nonsense: ["output"],
  child: ["mcp_tool_error"],
  stubborn: ["output"],
} as const;

/** The name of a fault. */
export type Fault = keyof typeof FAULTS;

/** Whether a text names a fault. */
export function isFault(name: string): name is Fault {
  return name in FAULTS;
}

/** How one call came out. */
export interface ChaosResult {
  readonly server: string;
  /**
   * `output`, the type of the error, or `no result` when the call broke its
   * contract.
   */
  readonly outcome: string;
  readonly message: string;
  readonly events: number;
  readonly durationMs: number;
}

/** The outcome of a chaos run. */
export interface ChaosReport {
  readonly faults: readonly ChaosResult[];
  /**
   * The calls of the server that does nothing wrong, made while the others do.
   */
  readonly calm: readonly ChaosResult[];
  /**
   * Processes that servers started and that are still there after all was
   * ended.
   */
  readonly survivors: readonly number[];
  /** How many processes there were. */
  readonly processes: number;
  /**
   * By how much the memory that is held between rounds grew after the first
   * round, at most.
   */
  readonly grownBytes: number;
  /**
   * By how much memory exceeded that of the first round's end while servers
   * misbehaved, garbage included.
   */
  readonly peakBytes: number;
}

/**
 * Where the tools of servers come from, and how they are ended: ours, or
 * something that lacks a guard.
 */
export interface ToolSource extends AsyncDisposable {
  tools(signal: AbortSignal): Promise<readonly Tool[]>;
}

/** The faults of a chaos run, and the servers that have them. */
export interface ChaosPlan {
  readonly faults: readonly Fault[];
  readonly rounds: number;
  /** Makes the source of the tools. Default: ours. */
  readonly sourceOf?: (settings: readonly McpServer[]) => ToolSource;
  /**
   * A call that is not over by then has no result; longer than the deadline of
   * calls, 4 seconds. Default 15 seconds.
   */
  readonly patienceMs?: number;
}

const PROGRAM = fileURLToPath(new URL("chaos-server.ts", import.meta.url));
const CALM = "calm";
const CALL_TIMEOUT_MS = 4000;
const CALM_PAUSE_MS = 5;

/**
 * Lets every fault happen at once, round after round, beside a server that does
 * its work.
 */
export async function runChaos(
  { faults, rounds, sourceOf, patienceMs = 15_000 }: ChaosPlan,
  signal: AbortSignal,
): Promise<ChaosReport> {
  const directory = await mkdtemp(join(tmpdir(), "devtool-chaos-"));
  const pidFile = join(directory, "pids");
  const settings = [CALM, ...faults].map((fault) =>
    chaosServer(fault, pidFile),
  );
  const clock = { skippedMs: 0 };
  const ours = (): ToolSource =>
    serversOf(settings, { now: () => clock.skippedMs + performance.now() })
      .servers;
  const results: ChaosResult[] = [];
  const memory = new MemoryMeter();
  {
    await using source = sourceOf ? sourceOf(settings) : ours();
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      results.push(
        ...(await chaosRound(await source.tools(signal), {
          memory,
          patienceMs,
        })),
      );
      // Failures of a round are forgiven in the next: the circuit is another
      // test's.
      clock.skippedMs += 10 * 60_000;
      memory.endRound();
    }
  }
  const processes = (await readFile(pidFile, "utf8"))
    .trim()
    .split("\n")
    .map((line) => {
      const [pid, start] = line.split(" ");
      return { pid: Number(pid), start };
    });
  await rm(directory, { recursive: true });
  return {
    faults: results.filter(({ server }) => server !== CALM),
    calm: results.filter(({ server }) => server === CALM),
    survivors: processes
      .filter(({ pid, start }) => startOfProcess(pid) === start)
      .map(({ pid }) => pid),
    processes: processes.length,
    grownBytes: memory.grownBytes,
    peakBytes: memory.peakBytes,
  };
}

/** How much memory may be taken. */
export interface MemoryBounds {
  readonly maxGrownBytes: number;
  readonly maxPeakBytes: number;
}

/** Says what in a report is not as it must be. */
export function breachesOf(
  { faults, calm, survivors, grownBytes, peakBytes }: ChaosReport,
  { maxGrownBytes, maxPeakBytes }: MemoryBounds,
): string[] {
  const slow = new Set(faults.filter(ranOutOfTime).map(({ server }) => server));
  const wrong = faults.filter(
    (result) =>
      !isExpected(result) && !(slow.has(result.server) && isGivenUp(result)),
  );
  const tooMany = faults.filter(({ events }) => events > 50);
  const disturbed = calm.filter(({ outcome }) => outcome !== "output");
  return [
    ...wrong.map(
      ({ server, outcome, message }) =>
        `${server} came to ${outcome}: ${message}`,
    ),
    ...tooMany.map(({ server, events }) => `${server} made ${events} events`),
    ...disturbed.map(
      ({ outcome, message }) =>
        `the calm server came to ${outcome}: ${message}`,
    ),
    ...(survivors.length > 0
      ? [`${survivors.length} processes are still there`]
      : []),
    ...(grownBytes > maxGrownBytes
      ? [`memory grew by ${grownBytes} bytes`]
      : []),
    ...(peakBytes > maxPeakBytes
      ? [`memory was up by ${peakBytes} bytes for a while`]
      : []),
  ];
}

/**
 * Whether a call had all of its time and more was needed, as on an overloaded
 * machine.
 */
function ranOutOfTime({ outcome, durationMs }: ChaosResult): boolean {
  return outcome === "timeout" && durationMs >= CALL_TIMEOUT_MS;
}

/**
 * Whether a call ended because its server had not answered a ping, which is
 * sent after a call that ran out of time.
 */
function isGivenUp({ outcome, message }: ChaosResult): boolean {
  return (
    outcome === "mcp_tool_error" && message.includes("does not answer any more")
  );
}

/** Whether a fault came to what it must, or to a timeout that took its time. */
function isExpected(result: ChaosResult): boolean {
  const { server, outcome } = result;
  return (
    ranOutOfTime(result) ||
    (isFault(server) && FAULTS[server].some((expected) => expected === outcome))
  );
}

/** The instruments of a round. */
interface Watch {
  readonly memory: MemoryMeter;
  readonly patienceMs: number;
}

async function chaosRound(
  tools: readonly Tool[],
  watch: Watch,
): Promise<ChaosResult[]> {
  const faulty = tools.filter(
    ({ declaration: { name } }) =>
      name.endsWith("__fault") && !name.includes(`__${CALM}__`),
  );
  const calm = tools.filter(
    ({ declaration: { name } }) => name === `mcp__${CALM}__echo`,
  );
  const disturbed = Promise.all(faulty.map((tool) => playFault(tool, watch)));
  const done = { isDone: false };
  const undisturbed = callWhile(calm, done, watch);
  const results = await disturbed;
  done.isDone = true;
  return [...results, ...(await undisturbed)];
}

/**
 * Calls again and again until the others are done, as often as a busy agent
 * might.
 */
async function callWhile(
  tools: readonly Tool[],
  done: { readonly isDone: boolean },
  watch: Watch,
): Promise<ChaosResult[]> {
  const results: ChaosResult[] = [];
  do {
    for (const tool of tools) results.push(await playFault(tool, watch));
    watch.memory.sample();
    await delay(CALM_PAUSE_MS);
  } while (!done.isDone && tools.length > 0);
  return results;
}

async function playFault(
  tool: Tool,
  { patienceMs }: Watch,
): Promise<ChaosResult> {
  const server = tool.facts?.mcpServer ?? "";
  const startMs = performance.now();
  const done = (
    outcome: string,
    message: string,
    events: number,
  ): ChaosResult => ({
    server,
    outcome,
    message,
    events,
    durationMs: performance.now() - startMs,
  });
  // Not `AbortSignal.any` over the run's signal: each call would stay with it,
  // 0.8 KB, and count as growth.
  const patience = new AbortController();
  const timer = setTimeout(
    () => patience.abort(new Error(`no result within ${patienceMs} ms`)),
    patienceMs,
  );
  try {
    const { result, events } = await play(tool, { n: 1 }, patience.signal);
    if (result.case === "output") return done("output", "", events.length);
    return done(result.value.type ?? "", result.value.message, events.length);
  } catch (reason) {
    return done("no result", String(reason), 0);
  } finally {
    clearTimeout(timer);
  }
}

function chaosServer(fault: string, pidFile: string): McpServer {
  const env = {
    ...COMPILE_CACHE,
    CHAOS_PIDS: pidFile,
    CHAOS_LINE_BYTES:
      process.env.DEVTOOL_MCP_CHAOS_LINE_BYTES ?? String(64 * 1024 * 1024),
  };
  const stdio = { command: process.execPath, args: [PROGRAM, fault], env };
  return create(McpServerSchema, {
    name: fault,
    transport: { case: "stdio", value: stdio },
    callTimeout: durationFromMs(CALL_TIMEOUT_MS),
  });
}

/**
 * Measures the memory of this process. What is held is measured without garbage
 * and without the pages that V8 keeps for later: they come with the first busy
 * rounds, 60 MB of them, and are not a leak.
 */
class MemoryMeter {
  readonly #held: number[] = [];
  #peak = 0;

  /** Looks while work goes on. */
  sample(): void {
    this.#peak = Math.max(this.#peak, process.memoryUsage.rss());
  }

  endRound(): void {
    this.sample();
    collectGarbage();
    this.#held.push(process.memoryUsage.rss());
  }

  get grownBytes(): number {
    return Math.max(...this.#held) - (this.#held[0] ?? 0);
  }

  get peakBytes(): number {
    return this.#peak - (this.#held[0] ?? 0);
  }
}
