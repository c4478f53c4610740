import { type DevtoolServer, VERSION } from "@devtool/server";
import { taskStateName } from "../task-state-name.ts";
import {
  Counter,
  gauge,
  type Metric,
  type MetricAbout,
} from "./instruments.ts";

/** How much a server has to do. */
export type Load = Awaited<ReturnType<DevtoolServer["load"]>>;

/** What is read when the metrics are asked for. */
interface Readings {
  readonly load: Load;
  readonly turns: number;
  readonly streams: number;
  readonly isReady: boolean;
  /** The delay of the event loop in seconds. */
  readonly eventLoopDelay: number;
}

/** Returns the metrics of what is read when they are asked for. */
export function readGauges(readings: Readings): readonly Metric[] {
  const { load } = readings;
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
    ...queues(load),
    evictions.read(),
    ...(load.store ? ofStore(load.store) : []),
  ];
}

/** Returns the metrics of a store, which its servers share. */
function ofStore({
  unfinished,
  questions,
  bytes,
}: NonNullable<Load["store"]>): readonly Metric[] {
  const label = "devtool.task.state";
  const states = [...unfinished].map(
    ([state, count]) => [{ [label]: taskStateName(state) }, count] as const,
  );
  return [
    gauge(
      {
        name: "devtool.tasks.unfinished",
        help: "Tasks of the store that have not ended, by their state.",
        unit: "{task}",
        labels: [label],
      },
      ...states,
    ),
    single("devtool.approvals.pending", "{approval}", questions.count, {
      help: "Questions in the store that wait for a user.",
    }),
    single("devtool.approval.oldest", "s", questions.oldestMs / 1000, {
      help: "How long the oldest question has waited; 0 for none.",
    }),
    ...(bytes === undefined
      ? []
      : [
          single("devtool.store.size", "By", bytes, {
            help: "The size of the store, with its indexes.",
          }),
        ]),
  ];
}

function single(
  name: string,
  unit: MetricAbout["unit"],
  value: number,
  { help }: Pick<MetricAbout, "help">,
): Metric {
  return gauge({ name, unit, help }, [{}, value]);
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

function queues({ inbox, outbox, waitingMessages }: Load): readonly Metric[] {
  const label = "devtool.queue";
  const of = (queue: string, value: number | undefined) =>
    value === undefined ? [] : [[{ [label]: queue }, value] as const];
  const seconds = (backlog: Load["inbox"]) =>
    backlog && backlog.oldestMs / 1000;
  return [
    gauge(
      {
        name: "devtool.queue.size",
        help: "Requests of other servers (inbox), events to post to webhooks (outbox), messages that wait for a turn (turns).",
        unit: "{item}",
        labels: [label],
      },
      ...of("inbox", inbox?.count),
      ...of("outbox", outbox?.count),
      ...of("turns", waitingMessages),
    ),
    gauge(
      {
        name: "devtool.queue.oldest",
        help: "How long the oldest in a queue has waited; 0 for none.",
        unit: "s",
        labels: [label],
      },
      ...of("inbox", seconds(inbox)),
      ...of("outbox", seconds(outbox)),
    ),
  ];
}
