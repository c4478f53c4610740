/**
 * Measures our server beside Google's, both with the Gemini SDK in front of the
 * same fake Gemini, in one run.
 */
import {
  measure,
  measureStreams,
  measureTurns,
  STREAMS,
  TURNS,
} from "./measure.ts";
import { watchStolenTime } from "./stolen-time.ts";
import {
  DEVTOOL,
  GEMINI_FLOOR,
  PEER,
  peerProblem,
  startFakeGemini,
} from "./subject.ts";
import { printTable } from "./table.ts";

const problem = peerProblem();
if (problem !== undefined) {
  console.log(`skipped: ${problem}`);
  process.exit(0);
}
await using fake = await startFakeGemini();
const env = { GEMINI_API_KEY: "fake", GOOGLE_GEMINI_BASE_URL: fake.url };
const stolen = watchStolenTime();
const ours = await measure({ ...DEVTOOL, env }, [measureTurns, measureStreams]);
const theirs = await measure({ ...PEER, env }, [measureTurns, measureStreams]);
const floor = await measure({ ...GEMINI_FLOOR, env }, [
  measureTurns,
  measureStreams,
]);

console.log(
  `Node ${process.version}, medians of ${TURNS} turns and ${STREAMS} streams, ${stolen()}; model: fake Gemini at latency 0\n`,
);
printTable({ title: "devtool (SQLite, synced)", figures: ours }, [
  {
    title: "gemini-cli-a2a-server 0.25.2 (memory, unbundled)",
    figures: theirs,
  },
  { title: "SDK alone (no tools, no disk)", figures: floor },
]);
