/**
 * Measures our server beside the ceiling and a server on the official SDK, in
 * one run, and prints ratios.
 */
import {
  measure,
  measureOutput,
  measureStreams,
  measureTurns,
  STREAMS,
  TURNS,
} from "./measure.ts";
import { watchStolenTime } from "./stolen-time.ts";
import { A2A_JS, CEILING, DEVTOOL } from "./subject.ts";
import { printTable } from "./table.ts";

const stolen = watchStolenTime();
const ours = await measure(DEVTOOL, [
  measureTurns,
  measureStreams,
  measureOutput,
]);
const sdk = await measure(A2A_JS, [measureTurns, measureStreams]);
const raw = await measure(CEILING, [measureStreams]);

console.log(
  `Node ${process.version}, medians of ${TURNS} turns and ${STREAMS} streams, ${stolen()}\n`,
);
printTable({ title: "devtool (SQLite, synced)", figures: ours }, [
  { title: "@a2a-js/sdk 0.3.14 (memory)", figures: sdk },
  { title: "raw SSE", figures: raw },
]);
process.exit(0);
