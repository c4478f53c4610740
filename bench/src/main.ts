/**
 * Measures our server beside peers in one run: with the scripted model beside a
 * server on the official SDK and the ceiling, with the Gemini SDK beside
 * Google's server and that SDK alone. Prints a table of each, with ratios;
 * `--write` puts them into bench/README.md.
 */
import { availableParallelism } from "node:os";
import { git } from "../../scripts/earlier-commit.ts";
import {
  measure,
  measureOutput,
  measureStreams,
  measureTurns,
  STREAMS,
  TURNS,
} from "./measure.ts";
import { watchStolenTime } from "./stolen-time.ts";
import {
  A2A_JS,
  CEILING,
  DEVTOOL,
  GEMINI_FLOOR,
  PEER,
  peerProblem,
  startFakeGemini,
} from "./subject.ts";
import { type Column, tableOf, writeTable } from "./table.ts";

const OURS = "devtool (SQLite, synced)";
const BOTH = [measureTurns, measureStreams];

await report("scripted", async () => [
  {
    title: OURS,
    figures: await measure(DEVTOOL, [...BOTH, measureOutput]),
  },
  {
    title: "@a2a-js/sdk 0.3.14 (memory)",
    figures: await measure(A2A_JS, BOTH),
  },
  { title: "raw SSE", figures: await measure(CEILING, [measureStreams]) },
]);
const problem = peerProblem();
if (problem === undefined) {
  await using fake = await startFakeGemini();
  const env = { GEMINI_API_KEY: "fake", GOOGLE_GEMINI_BASE_URL: fake.url };
  await report("gemini", async () => [
    { title: OURS, figures: await measure({ ...DEVTOOL, env }, BOTH) },
    {
      title: "gemini-cli-a2a-server 0.25.2 (memory, unbundled)",
      figures: await measure({ ...PEER, env }, BOTH),
    },
    {
      title: "SDK alone (no tools, no disk)",
      figures: await measure({ ...GEMINI_FLOOR, env }, BOTH),
    },
  ]);
} else {
  console.log(`skipped: ${problem}`);
}
process.exit(0);

/** Measures a table, ours first, and prints it under its conditions. */
async function report(
  name: string,
  run: () => Promise<readonly [Column, ...Column[]]>,
): Promise<void> {
  const stolen = watchStolenTime();
  const [ours, ...others] = await run();
  const commit = git("rev-parse", "--short=12", "HEAD");
  const changes = git("status", "--porcelain") ? " and changes" : "";
  const table = [
    `Commit \`${commit}\`${changes}, ${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${availableParallelism()} processors, ${stolen()}; medians of ${TURNS} turns and ${STREAMS} streams.`,
    "",
    ...tableOf(ours, others),
  ].join("\n");
  console.log(`${table}\n`);
  if (process.argv.includes("--write")) writeTable(name, table);
}
