/**
 * Measures our server beside peers in one run: with the scripted model beside a
 * server on the official SDK and the ceiling, with the Gemini SDK beside
 * Google's server, what a durable agent costs with libraries alone, and that
 * SDK alone. `bench [scripted] [gemini] [--write]` prints a table of each that
 * is named, or both, with ratios; `--write` puts them into bench/README.md.
 */
import { availableParallelism } from "node:os";
import { git } from "../../scripts/earlier-commit.ts";
import {
  BLOCK_TURNS,
  BLOCKS,
  type Measured,
  measure,
  measureOutput,
  measureStreams,
  measureTurns,
} from "./measure.ts";
import { watchStolenTime } from "./stolen-time.ts";
import {
  A2A_JS,
  CEILING,
  DEVTOOL,
  DURABLE_FLOOR,
  GEMINI_FLOOR,
  PEER,
  peerProblem,
  startFakeGemini,
} from "./subject.ts";
import { tableOf, writeTable } from "./table.ts";

const OURS = "devtool (SQLite, synced)";
const BOTH = [measureTurns, measureStreams];
const TABLES = { scripted, gemini };

const named = process.argv.slice(2).filter((arg) => arg !== "--write");
const unknown = named.find((name) => !Object.hasOwn(TABLES, name));
if (unknown !== undefined) {
  throw new Error(`"${unknown}" is not a table: give scripted, gemini or none`);
}
for (const [name, run] of Object.entries(TABLES)) {
  if (named.length === 0 || named.includes(name)) await run();
}
process.exit(0);

function scripted(): Promise<void> {
  return report("scripted", [
    { title: OURS, command: DEVTOOL, plays: [...BOTH, measureOutput] },
    {
      title: "@a2a-js/sdk 0.3.14 (memory)",
      command: A2A_JS,
      plays: BOTH,
    },
    { title: "raw SSE", command: CEILING, plays: [measureStreams] },
  ]);
}

async function gemini(): Promise<void> {
  const problem = peerProblem();
  if (problem !== undefined) return console.log(`skipped: ${problem}`);
  await using fake = await startFakeGemini();
  const env = { GEMINI_API_KEY: "fake", GOOGLE_GEMINI_BASE_URL: fake.url };
  await report("gemini", [
    { title: OURS, command: { ...DEVTOOL, env }, plays: BOTH },
    {
      title: "gemini-cli-a2a-server 0.25.2 (memory, unbundled)",
      command: { ...PEER, env },
      plays: BOTH,
    },
    {
      title: "floor (libraries alone, synced)",
      command: { ...DURABLE_FLOOR, env },
      plays: [measureTurns],
    },
    {
      title: "SDK alone (no tools, no disk)",
      command: { ...GEMINI_FLOOR, env },
      plays: BOTH,
    },
  ]);
}

/** Measures a table, ours first, and prints it under its conditions. */
async function report(
  name: string,
  measured: readonly Measured[],
): Promise<void> {
  const stolen = watchStolenTime();
  const figures = await measure(measured);
  const columns = measured.map(({ title }, index) => ({
    title,
    figures: figures[index] ?? new Map(),
  }));
  const commit = git("rev-parse", "--short=12", "HEAD");
  const changes = git("status", "--porcelain") ? " and changes" : "";
  const table = [
    `Commit \`${commit}\`${changes}, ${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${availableParallelism()} processors, ${stolen()}; medians of ${BLOCKS} blocks of ${BLOCK_TURNS} turns and ${BLOCKS} streams.`,
    "",
    ...tableOf(columns),
  ].join("\n");
  console.log(`${table}\n`);
  if (process.argv.includes("--write")) writeTable(name, table);
}
