import { monitorEventLoopDelay } from "node:perf_hooks";
import { type Observer, type Operation, VERSION } from "@devtool/server";
import type { OperationEnd } from "@devtool/server/agent";
import { clientProblem } from "../log/problem.ts";
import { Counter, gaugeText, Histogram } from "./exposition.ts";

/** The bounds of the time of a request, in seconds (OpenTelemetry's for RPC). */
const CALL_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The bounds of what an agent, a model, a tool or a person takes, in seconds. */
const WORK_BOUNDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200];

/** The bounds of an append to the store, in seconds. */
const APPEND_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];

/** Methods whose answer is a stream. */
const STREAMS = /^(Stream|Subscribe|Watch)/;

const NS_PER_SECOND = 1e9;

/** Where the numbers come from that no operation says. */
export interface MetricSources {
  /** Returns the time in milliseconds since any moment, which never goes back. */
  readonly elapsedMs: () => number;
  /** Returns the size of the store in bytes; undefined where it is elsewhere. */
  readonly storeBytes: () => Promise<number | undefined>;
}

/**
 * The metrics of a server, by the names of OpenTelemetry's conventions as
 * Prometheus writes them; those that begin with `devtool_` are our own. No label
 * holds an id, and the number of values of each is bounded.
 */
export class ServerMetrics implements Disposable {
  readonly #sources: MetricSources;
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });
  readonly #calls = new Histogram(
    {
      name: "rpc_server_call_duration_seconds",
      help: "Requests that reached a method, until the end of their answer.",
      labels: ["rpc_method", "devtool_binding", "rpc_status_code"],
    },
    CALL_BOUNDS,
  );
  readonly #refused = new Counter({
    name: "devtool_refused_requests_total",
    help: "Requests without credentials or a right, or of another origin.",
    labels: ["rpc_status_code"],
  });
  readonly #turns = new Histogram(
    {
      name: "gen_ai_invoke_agent_duration_seconds",
      help: "Turns of agents.",
      labels: ["gen_ai_agent_name", "devtool_outcome"],
    },
    WORK_BOUNDS,
  );
  readonly #steps = new Histogram(
    {
      name: "gen_ai_client_inference_duration_seconds",
      help: "Requests of agents to their models.",
      labels: ["gen_ai_request_model", "devtool_outcome"],
    },
    WORK_BOUNDS,
  );
  readonly #tools = new Histogram(
    {
      name: "gen_ai_execute_tool_duration_seconds",
      help: "Tool calls, from when they run.",
      labels: ["gen_ai_tool_name", "devtool_outcome"],
    },
    WORK_BOUNDS,
  );
  readonly #waits = new Histogram(
    {
      name: "devtool_approval_wait_duration_seconds",
      help: "Questions to the user, until they were answered or withdrawn.",
    },
    WORK_BOUNDS,
  );
  readonly #appends = new Histogram(
    {
      name: "devtool_store_append_duration_seconds",
      help: "Appends to the logs of tasks, until they were durable.",
    },
    APPEND_BOUNDS,
  );
  readonly #posts = new Counter({
    name: "devtool_push_posts_total",
    help: "Attempts to post an event to a webhook.",
    labels: ["devtool_outcome"],
  });
  readonly #takeovers = new Counter({
    name: "devtool_takeovers_total",
    help: "Tasks that were taken over from another server.",
  });
  /** When the open operations began, by their kind. */
  readonly #open = {
    turn: new Map<string, number>(),
    question: new Map<string, number>(),
    stream: new Map<string, number>(),
    outage: new Map<string, number>(),
  };

  constructor(sources: MetricSources) {
    this.#sources = sources;
    this.#delay.enable();
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

  /** Returns all metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    const storeBytes = await this.#sources.storeBytes();
    const { turn, question, stream, outage } = this.#open;
    const oldest = Math.min(...question.values());
    const waitedMs = this.#sources.elapsedMs() - oldest;
    const gauges = [
      ["devtool_turns_active", "Turns of agents that run.", turn.size],
      ["devtool_streams_active", "Streams that are open.", stream.size],
      [
        "devtool_approvals_pending",
        "Questions that wait for a user.",
        question.size,
      ],
      [
        "devtool_approval_oldest_seconds",
        "How long the oldest question has waited; 0 for none.",
        question.size === 0 ? 0 : waitedMs / 1000,
      ],
      [
        "devtool_ready",
        "Whether the server accepted work when it was last probed.",
        outage.size === 0 ? 1 : 0,
      ],
      [
        "nodejs_eventloop_delay_p99_seconds",
        "The delay of the event loop since the last scrape.",
        this.#delay.percentile(99) / NS_PER_SECOND,
      ],
      [
        "process_memory_usage_bytes",
        "The memory of the process.",
        process.memoryUsage.rss(),
      ],
      [
        "process_uptime_seconds",
        "How long the process has run.",
        process.uptime(),
      ],
    ] as const;
    this.#delay.reset();
    const read = gauges.map(([name, help, value]) =>
      gaugeText({ name, help }, value),
    );
    if (storeBytes !== undefined) {
      const name = "devtool_store_size_bytes";
      read.push(
        gaugeText({ name, help: "The files of the store." }, storeBytes),
      );
    }
    const build = `devtool_build_info{version="${VERSION}"} 1\n`;
    return [
      "# HELP devtool_build_info The version of the server.\n",
      `# TYPE devtool_build_info gauge\n${build}`,
      ...read,
      ...this.#recorded().map((each) => each.text()),
    ].join("");
  }

  [Symbol.dispose](): void {
    this.#delay.disable();
  }

  #recorded(): readonly (Counter | Histogram)[] {
    return [
      this.#calls,
      this.#refused,
      this.#turns,
      this.#steps,
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
      case "question":
      case "outage":
        return this.#open[kind];
      default:
        return undefined;
    }
  }

  #record(
    operation: Operation,
    { outcome, error }: OperationEnd,
    seconds: number,
  ): void {
    const { kind, name } = operation;
    switch (kind) {
      case "request": {
        const { code } =
          outcome === "failed" ? clientProblem(error) : { code: "ok" };
        this.#recordRequest(operation, code, seconds);
        break;
      }
      case "turn":
        this.#turns.record(seconds, name, outcome);
        break;
      case "step":
        this.#steps.record(seconds, name, outcome);
        break;
      case "call":
        this.#tools.record(seconds, name, outcome);
        break;
      case "question":
        this.#waits.record(seconds);
        break;
      case "append":
        this.#appends.record(seconds);
        break;
      case "post":
        this.#posts.add(outcome);
        break;
      case "takeover":
        if (outcome === "succeeded") this.#takeovers.add();
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
    if (code === "unauthenticated" || code === "permission_denied") {
      this.#refused.add(code);
    }
    // The path of one that reached no method is whatever a stranger writes.
    if (binding !== "http") this.#calls.record(seconds, name, binding, code);
  }
}
