import { readFileSync, writeFileSync } from "node:fs";
import type { ScenarioName } from "./scenario.ts";

/**
 * A row of the matrix: a peer, its version and binding of A2A, and the
 * scenarios that passed.
 */
export interface MatrixRow {
  /** The SDK and its version. */
  readonly peer: string;
  /** Whether the peer is the client or the server of devtool. */
  readonly role: "client" | "server";
  /** The version of A2A. */
  readonly protocol: string;
  readonly binding: string;
  readonly passed: readonly ScenarioName[];
  /**
   * The scenarios that the peer itself fails, with reasons. Undefined if there
   * are none.
   */
  readonly known?: KnownFailures;
}

/** The reasons why a peer fails scenarios, by scenario. */
export type KnownFailures = Readonly<Partial<Record<ScenarioName, string>>>;

const FILE = new URL("./results.jsonl", import.meta.url);

/** Reads the results that were last recorded. */
export function readMatrix(): readonly MatrixRow[] {
  const lines = readFileSync(FILE, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}

/**
 * Records rows. They replace those of the same peer, role, version and binding.
 */
export function recordRows(rows: readonly MatrixRow[]): void {
  const others = readMatrix().filter(
    (old) => !rows.some((row) => isSameRow(row, old)),
  );
  const all = [...others, ...rows].toSorted((a, b) =>
    rowKey(a).localeCompare(rowKey(b)),
  );
  writeFileSync(FILE, all.map((row) => `${JSON.stringify(row)}\n`).join(""));
}

/** The fields that identify a row. */
export type RowKey = Omit<MatrixRow, "passed" | "known">;

/** Returns whether two rows have the same peer, role, version and binding. */
export function isSameRow(one: RowKey, other: RowKey): boolean {
  return rowKey(one) === rowKey(other);
}

function rowKey({ role, peer, protocol, binding }: RowKey): string {
  return [role, peer, protocol, binding].join(" | ");
}
