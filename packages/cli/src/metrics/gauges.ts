import { type DevtoolServer, VERSION } from "@devtool/server";
import { Counter, gauge, type Metric } from "./instruments.ts";

/** How much a server has to do. */
export type Load = Awaited<ReturnType<DevtoolServer["load"]>>;

/** What is read when the metrics are asked for. */
export interface Readings {
  readonly load: Load;
  readonly turns: number;
  readonly streams: number;
  readonly approvals: number;
  /** How long the oldest question has waited in seconds; 0 for none. */
  readonly oldestApproval: number;
  readonly isReady: boolean;
  /** The delay of the event loop in seconds. */
  readonly eventLoopDelay: number;
  /** The size of the store in bytes; undefined where it is elsewhere. */
  readonly storeBytes: number | undefined;
}

/** Returns the metrics of what is read when they are asked for. */
export function readGauges(readings: Readings): readonly Metric[] {
  const { load, storeBytes } = readings;
  const evictions = new Counter({
    name: "devtool.task.evictions",
    help: "Idle tasks that were closed because many were open.",
    unit: "{task}",
  });
  evictions.add(load.evictedTasks);
  return [
    gauge(
      {
        name: "devtool.build_info",
        help: "The version of the server.",
        unit: "1",
      },
      [{ version: VERSION }, 1],
    ),
    ...ofNow(readings),
    queues(load),
    evictions.read(),
    ...(storeBytes === undefined
      ? []
      : [
          gauge(
            {
              name: "devtool.store.size",
              help: "The files of the store.",
              unit: "By",
            },
            [{}, storeBytes],
          ),
        ]),
  ];
}

/** Returns the metrics that are one number each. */
function ofNow(readings: Readings): readonly Metric[] {
  const numbers = [
    [
      "devtool.turns.active",
      "{turn}",
      readings.turns,
      "Turns of agents that run.",
    ],
    [
      "devtool.streams.active",
      "{stream}",
      readings.streams,
      "Streams that are open.",
    ],
    [
      "devtool.tasks.open",
      "{task}",
      readings.load.openTasks,
      "Tasks that are open in memory.",
    ],
    [
      "devtool.approvals.pending",
      "{approval}",
      readings.approvals,
      "Questions that wait for a user.",
    ],
    [
      "devtool.approval.oldest",
      "s",
      readings.oldestApproval,
      "How long the oldest question has waited; 0 for none.",
    ],
    [
      "devtool.ready",
      "1",
      readings.isReady ? 1 : 0,
      "Whether the server accepted work when it was last probed.",
    ],
    [
      "nodejs.eventloop.delay.p99",
      "s",
      readings.eventLoopDelay,
      "The delay of the event loop since the last reading.",
    ],
    [
      "process.memory.usage",
      "By",
      process.memoryUsage.rss(),
      "The memory of the process.",
    ],
    ["process.uptime", "s", process.uptime(), "How long the process has run."],
  ] as const;
  return numbers.map(([name, unit, value, help]) =>
    gauge({ name, unit, help }, [{}, value]),
  );
}

function queues({ inboxTasks, busyWebhooks, waitingMessages }: Load): Metric {
  const label = "devtool.queue";
  return gauge(
    {
      name: "devtool.queue.size",
      help: "Tasks with requests of other servers (inbox), webhooks with events to post (outbox), messages that wait for a turn (turns).",
      unit: "{item}",
      labels: [label],
    },
    [{ [label]: "inbox" }, inboxTasks],
    [{ [label]: "outbox" }, busyWebhooks],
    [{ [label]: "turns" }, waitingMessages],
  );
}
