import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMessage } from "@bufbuild/protobuf";
import { ErrorDetailsSchema } from "@devtool/schema";
import type { DevtoolServer, Observer, Operation } from "@devtool/server";
import type { OperationEnd } from "@devtool/server/agent";
import { clientProblem } from "../log/problem.ts";
import { type Load, readGauges } from "./gauges.ts";
import { Counter, Histogram, type Metric, OTHER } from "./instruments.ts";
import { MODEL_LABELS, TokenMetrics } from "./token-metrics.ts";

/** The bounds of the time of a request, in seconds (OpenTelemetry's for RPC). */
const CALL_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The bounds of what an agent, a model, a tool or a person takes, in seconds. */
const WORK_BOUNDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200];

/** The bounds of an append to the store, in seconds. */
const APPEND_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

/** Methods whose answer is a stream. */
const STREAMS = /^(Stream|Subscribe|Watch)/;

const NS_PER_SECOND = 1e9;

/** What there is to do before a server has started. */
const NO_LOAD: Load = {
  openTasks: 0,
  evictedTasks: 0,
  waitingMessages: 0,
  inbox: { count: 0, oldestMs: 0 },
  outbox: { count: 0, oldestMs: 0 },
  store: undefined,
};

/** Where the numbers come from that no operation says. */
interface MetricSources {
  /** Returns the time in milliseconds since any moment, which never goes back. */
  readonly elapsedMs: () => number;
}

/** Returns all metrics as they are now. */
export type MetricReader = () => Promise<readonly Metric[]>;

/**
 * The metrics of a server, by the names of OpenTelemetry's conventions; those
 * that begin with `devtool.` are our own. No label holds an id, and the number
 * of values of each is bounded.
 */
export class ServerMetrics implements Disposable {
  readonly #sources: MetricSources;
  readonly #calls = new Histogram(
    {
      name: "rpc.server.call.duration",
      help: "Requests that reached a method, until the end of their answer.",
      unit: "s",
      labels: ["rpc.method", "devtool.binding", "rpc.status_code"],
    },
    CALL_BOUNDS,
  );
  readonly #refused = new Counter({
    name: "devtool.refused_requests",
    help: "Requests without credentials or a right, and those that reached no method.",
    unit: "{request}",
    labels: ["rpc.status_code"],
  });
  readonly #turns = new Histogram(
    {
      name: "gen_ai.invoke_agent.duration",
      help: "Turns of agents.",
      unit: "s",
      labels: ["gen_ai.agent.name", "devtool.outcome", "error.type"],
    },
    WORK_BOUNDS,
  );
  readonly #steps = new Histogram(
    {
      name: "gen_ai.client.inference.duration",
      help: "Requests of agents to their models.",
      unit: "s",
      labels: [...MODEL_LABELS, "devtool.outcome", "error.type"],
    },
    WORK_BOUNDS,
  );
  readonly #firstPieces = new Histogram(
    {
      name: "gen_ai.client.inference.time_to_first_chunk",
      help: "Until the first piece of the answer of a model.",
      unit: "s",
      labels: MODEL_LABELS,
    },
    WORK_BOUNDS,
  );
  readonly #tools = new Histogram(
    {
      name: "gen_ai.execute_tool.duration",
      help: "Tool calls, from when they run.",
      unit: "s",
      labels: ["gen_ai.tool.name", "devtool.outcome"],
    },
    WORK_BOUNDS,
  );
  readonly #waits = new Histogram(
    {
      name: "devtool.approval.wait.duration",
      help: "Questions to the user, until they were answered or withdrawn.",
      unit: "s",
    },
    WORK_BOUNDS,
  );
  readonly #appends = new Histogram(
    {
      name: "devtool.store.append.duration",
      help: "Appends to the logs of tasks, until they were durable.",
      unit: "s",
    },
    APPEND_BOUNDS,
  );
  readonly #posts = new Counter({
    name: "devtool.push.posts",
    help: "Attempts to post an event to a webhook.",
    unit: "{post}",
    labels: ["devtool.outcome"],
  });
  readonly #takeovers = new Counter({
    name: "devtool.takeovers",
    help: "Tasks that were taken over from another server.",
    unit: "{task}",
  });
  readonly #tokens = new TokenMetrics();
  readonly #delays = new Set<ReturnType<typeof monitorEventLoopDelay>>();
  /** When the open operations began, by their kind. */
  readonly #open = {
    turn: new Map<string, number>(),
    stream: new Map<string, number>(),
    outage: new Map<string, number>(),
  };
  #load = (): Promise<Load> => Promise.resolve(NO_LOAD);

  constructor(sources: MetricSources) {
    this.#sources = sources;
  }

  /** Measures also what there is to do in a server that has started. */
  watch({ load }: Pick<DevtoolServer, "load">): void {
    this.#load = load;
  }

  readonly observer: Observer = (operation) => {
    const begunMs = this.#sources.elapsedMs();
    const open = this.#openOf(operation);
    open?.set(operation.id, begunMs);
    return (end) => {
      open?.delete(operation.id);
      const seconds = (this.#sources.elapsedMs() - begunMs) / 1000;
      this.#record(operation, end, seconds);
    };
  };

  /**
   * Returns a reader of all metrics as they are now. What it says of the time
   * since the last reading is about its own one: several readers, such as a
   * scrape and an exporter, take nothing from each other.
   */
  reader(): MetricReader {
    const delay = monitorEventLoopDelay({ resolution: 20 });
    delay.enable();
    this.#delays.add(delay);
    return async () => {
      const delayNs = delay.percentile(99);
      delay.reset();
      return this.#read(delayNs / NS_PER_SECOND);
    };
  }

  async #read(eventLoopDelay: number): Promise<readonly Metric[]> {
    const { turn, stream, outage } = this.#open;
    return [
      ...readGauges({
        load: await this.#load(),
        turns: turn.size,
        streams: stream.size,
        isReady: outage.size === 0,
        eventLoopDelay,
      }),
      ...this.#recorded().map((each) => each.read()),
      ...this.#tokens.read(),
    ];
  }

  [Symbol.dispose](): void {
    for (const delay of this.#delays) delay.disable();
  }

  #recorded(): readonly (Counter | Histogram)[] {
    return [
      this.#calls,
      this.#refused,
      this.#turns,
      this.#steps,
      this.#firstPieces,
      this.#tools,
      this.#waits,
      this.#appends,
      this.#posts,
      this.#takeovers,
    ];
  }

  #openOf({ kind, name }: Operation): Map<string, number> | undefined {
    switch (kind) {
      case "request":
        return STREAMS.test(name) ? this.#open.stream : undefined;
      case "turn":
      case "outage":
        return this.#open[kind];
      default:
        return undefined;
    }
  }

  #record(operation: Operation, end: OperationEnd, seconds: number): void {
    const { kind, name, agent, facts } = operation;
    const { outcome, error } = end;
    const code = outcome === "failed" ? clientProblem(error).code : "";
    switch (kind) {
      case "request":
        this.#recordRequest(operation, code || "ok", seconds);
        break;
      case "turn":
        this.#turns.record(seconds, name, outcome, code);
        this.#tokens.note(operation, end);
        break;
      case "step": {
        const model = [agent, name, facts?.provider ?? ""];
        const { firstPieceMs } = end.facts ?? {};
        this.#steps.record(seconds, ...model, outcome, code);
        if (firstPieceMs !== undefined) {
          this.#firstPieces.record(firstPieceMs / 1000, ...model);
        }
        this.#tokens.note(operation, end);
        break;
      }
      case "call":
        this.#tools.record(seconds, isInvented(end) ? OTHER : name, outcome);
        break;
      case "question":
        this.#waits.record(seconds);
        break;
      case "append":
        this.#appends.record(seconds);
        break;
      case "post":
        this.#posts.add(1, outcome);
        break;
      case "takeover":
        if (outcome === "succeeded") this.#takeovers.add(1);
        break;
      case "outage":
        break;
      default:
        kind satisfies never;
    }
  }

  #recordRequest(
    { name, binding }: Operation,
    code: string,
    seconds: number,
  ): void {
    if (isRefused(binding, code)) {
      this.#refused.add(1, code);
    }
    // The path of one that reached no method is whatever a stranger writes.
    if (binding !== "http") this.#calls.record(seconds, name, binding, code);
  }
}

/** Whether a model has made up the name of the tool that it called. */
function isInvented({ facts }: OperationEnd): boolean {
  const result = facts?.result;
  return isMessage(result, ErrorDetailsSchema) && result.type === UNKNOWN_TOOL;
}

/** The type of the error of a call to a tool that its turn does not have. */
const UNKNOWN_TOOL = "tool_not_registered";

/**
 * Whether a request was refused: its caller may not make it, or it reached no
 * method.
 */
function isRefused(binding: string, code: string): boolean {
  const isCaller = code === "unauthenticated" || code === "permission_denied";
  // A probe is answered with `unavailable`.
  return isCaller || (binding === "http" && !/^(ok|unavailable)$/.test(code));
}
