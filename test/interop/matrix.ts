import { readFileSync, writeFileSync } from "node:fs";
import type { ScenarioName } from "./scenario.ts";

/** One row: a peer, how it speaks to us, and the scenarios that went well. */
export interface MatrixRow {
  /** The SDK and its version. */
  readonly peer: string;
  /** What the peer is to us. */
  readonly role: "client" | "server";
  /** The version of A2A. */
  readonly protocol: string;
  readonly binding: string;
  readonly passed: readonly ScenarioName[];
  /** The scenarios that the peer itself fails at, and why; undefined when there are none. */
  readonly known?: KnownFailures;
}

/** Why a peer fails at scenarios, by their names. */
export type KnownFailures = Readonly<Partial<Record<ScenarioName, string>>>;

const FILE = new URL("./results.json", import.meta.url);

/** The results that were recorded last. */
export function readMatrix(): readonly MatrixRow[] {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

/** Puts rows in place of those of the same peer, role, version and binding; the others stay. */
export function recordRows(rows: readonly MatrixRow[]): void {
  const others = readMatrix().filter((old) => !rows.some((row) => isSameRow(row, old)));
  const all = [...others, ...rows].toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)));
  writeFileSync(FILE, `${JSON.stringify(all, undefined, 2)}\n`);
}

/** What a row is about. */
export type RowKey = Omit<MatrixRow, "passed" | "known">;

/** Tells whether two rows are about the same. */
export function isSameRow(one: RowKey, other: RowKey): boolean {
  return keyOf(one) === keyOf(other);
}

function keyOf({ role, peer, protocol, binding }: RowKey): string {
  return [role, peer, protocol, binding].join(" | ");
}
