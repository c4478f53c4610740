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
}

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

/** Tells whether two rows are about the same. */
export function isSameRow(one: Omit<MatrixRow, "passed">, other: Omit<MatrixRow, "passed">): boolean {
  return keyOf(one) === keyOf(other);
}

function keyOf({ role, peer, protocol, binding }: Omit<MatrixRow, "passed">): string {
  return [role, peer, protocol, binding].join(" | ");
}
