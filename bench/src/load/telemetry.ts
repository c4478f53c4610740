/**
 * Compares the processor time of a text turn with spans, which a collector on
 * this machine takes, and of one with spans that are turned off, with that of a
 * turn without. Each round has new servers of both sides, as a process may be
 * slower than another one for as long as it lives, and the side that starts
 * first alternates; so do their turns, and other load affects both. Beside them the SDK of
 * OpenTelemetry makes the same spans in a process that does nothing else: what
 * nobody who uses it can be below.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { prompt, stream, taskIdOf } from "../client.ts";
import { judge, type Verdict } from "../compare/verdict.ts";
import { devtoolOf, ROOT, type Subject, startSubject } from "../subject.ts";
import { median, numberNamed, printRow } from "./row.ts";

/** Rounds of servers with spans: of fewer than six, no interval is known. */
const ROUNDS = numberNamed("rounds", 6);
const OFF_ROUNDS = numberNamed("off-rounds", 30);
/**
 * The turns before a server with spans is measured: until Node has compiled
 * them, spans take several times as long.
 */
const WARM_TURNS = numberNamed("warm-turns", 3000);
const OFF_WARM_TURNS = 200;
const TURNS = numberNamed("turns", 2000);
const OFF_TURNS = 400;
const TEXT = "text hello";
/** The turns that one server plays before the other one does. */
const GROUP = 5;
/** The turns of a task. */
const TASK_TURNS = 40;
/** The turns whose spans the SDK exports at once. */
const EXPORTED_TURNS = 170;

/** What a turn takes in a round, in microseconds of a processor. */
interface Round {
  readonly without: number;
  readonly withSpans: number;
}

const received = { bytes: 0, requests: 0 };
const collector = createServer(async (request, response) => {
  for await (const chunk of request) received.bytes += chunk.length;
  received.requests++;
  response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
});
await new Promise<void>((listening) =>
  collector.listen(0, "127.0.0.1", listening),
);
const address = collector.address();
const port = typeof address === "object" && address ? address.port : 0;

const url = `http://127.0.0.1:${port}/`;
const spans = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url };

const off: Round[] = [];
for (let at = 0; at < OFF_ROUNDS; at++) {
  await using pair = await startPair(at, {
    ...spans,
    OTEL_SDK_DISABLED: "true",
  });
  await pair.play(OFF_WARM_TURNS);
  off.push(await pair.play(OFF_TURNS));
}
const on: Round[] = [];
const first: Round[] = [];
for (let at = 0; at < ROUNDS; at++) {
  await using pair = await startPair(at, spans);
  first.push(await pair.play(WARM_TURNS));
  on.push(await pair.play(TURNS));
}
const sdkUs = await spansUs();
collector.closeAllConnections();
collector.close();

const withoutUs = median(on.map(({ without }) => without));
console.log(
  `# a text turn takes ${withoutUs.toFixed(0)} us of a processor, its spans by the SDK alone ${sdkUs.toFixed(0)}; ${received.bytes} bytes in ${received.requests} requests`,
);
judged(`spans, the first ${WARM_TURNS} turns`, first);
printRow({
  // At most this in 19 of 20 runs, as two servers alike differ, too.
  name: "telemetry.off.cpu-ratio",
  value: judged("spans off", off).high,
  target: { atMost: 1.02 },
});
printRow({
  name: "telemetry.on.cpu-ratio",
  value: judged("spans on", on).ratio,
  target: { atMost: 1.1 },
});
printRow({
  name: "telemetry.sdk-alone.cpu-ratio",
  value: 1 + sdkUs / withoutUs,
  target: { atMost: 1.1 },
});

/** Prints what rounds say, and returns it. */
function judged(what: string, rounds: readonly Round[]): Verdict {
  const ratios = rounds.map(({ without, withSpans }) => withSpans / without);
  const verdict = judge(ratios, 1);
  const { ratio, low, high } = verdict;
  const [middle, from, to] = [ratio, low, high].map((one) => one.toFixed(3));
  console.log(
    `# ${what}: ${middle} times a turn without (${from} to ${to} in 19 of 20 runs), ${rounds.length} rounds`,
  );
  return verdict;
}

/**
 * Starts a server without telemetry, and one with these variables, which is the
 * first to start in each second round.
 */
async function startPair(round: number, env: Readonly<Record<string, string>>) {
  await using started = new AsyncDisposableStack();
  const start = async (its: typeof env) =>
    started.use(await startSubject({ ...devtoolOf(ROOT), env: its }));
  const early = round % 2 === 1 ? await start(env) : undefined;
  const servers = [await start({}), early ?? (await start(env))];
  const open = started.move();
  return {
    /** Plays turns at both, and returns what one takes, with its export. */
    async play(turns: number): Promise<Round> {
      const beforeMs = servers.map((server) => server.processorMs());
      for (let at = 0; at < turns; at += TASK_TURNS) await playTasks(servers);
      const [without = 0, withSpans = 0] = servers.map(
        (server, at) => (server.processorMs() - (beforeMs[at] ?? 0)) / turns,
      );
      return { without: without * 1000, withSpans: withSpans * 1000 };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Plays a task at each, a few turns of one and then of the other. */
async function playTasks(servers: readonly Subject[]): Promise<void> {
  const taskIds = new Map<Subject, string>();
  const order = [...servers];
  for (let turn = 0; turn < TASK_TURNS; turn += GROUP) {
    for (const server of order) {
      for (let at = 0; at < GROUP; at++) {
        const taskId = taskIds.get(server);
        const sent = { ...prompt(TEXT), ...(taskId && { taskId }) };
        const seen = await stream(server, sent);
        if (!taskId) taskIds.set(server, taskIdOf(seen));
      }
    }
    order.reverse();
  }
}

/**
 * Has the SDK make the spans of turns and export them, until Node has compiled
 * it. Returns what those of one turn then take, in microseconds.
 */
async function spansUs(): Promise<number> {
  const main = fileURLToPath(new URL("sdk-spans.ts", import.meta.url));
  const sdk = fork(main, [url]);
  const costs: number[] = [];
  for (let turns = 0; turns < WARM_TURNS + TURNS; turns += EXPORTED_TURNS) {
    sdk.send(EXPORTED_TURNS);
    const [us] = await once(sdk, "message");
    if (turns >= WARM_TURNS) costs.push(us / EXPORTED_TURNS);
  }
  sdk.kill();
  return median(costs);
}
