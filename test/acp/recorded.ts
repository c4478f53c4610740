import { readFileSync, writeFileSync } from "node:fs";
import { markdownTable } from "../markdown-table.ts";

/** The words of a table, by the capability that was tested. */
export type Cells = Readonly<Record<string, string>>;

/** The results of the tests for one agent. */
export interface AgentRecord {
  /** The version that was tested. */
  readonly version: string;
  /** Capabilities over A2A 0.3, with nothing but what the RFC describes. */
  readonly capabilities: Cells;
  /** Capabilities over each binding. */
  readonly bindings: Readonly<Record<string, Cells>>;
  /**
   * What comes of a question over each binding when the agent or its server is
   * killed while it waits.
   */
  readonly kills: Readonly<Record<string, Cells>>;
}

/** The results of the tests, by the agent's name. */
export type Recorded = Readonly<Record<string, AgentRecord>>;

/** An object in the file that holds no other. */
const CELLS = /\{[^{}]+\}/g;

const FILE = new URL("./recorded.json", import.meta.url);

/**
 * Whether this run records what it finds, in place of comparing it:
 * DEVTOOL_AGENTS_RECORD is set.
 */
export const IS_RECORDING: boolean =
  process.env.DEVTOOL_AGENTS_RECORD !== undefined;

/** Reads what was recorded last. */
export function readRecorded(): Recorded {
  return JSON.parse(readFileSync(FILE, "utf8"));
}

/**
 * Records what was found for one agent. What was not tested, and other agents,
 * stay as they are.
 */
export function recordAgent(
  name: string,
  found: Pick<AgentRecord, "version"> & Partial<AgentRecord>,
): void {
  const before = readRecorded();
  const all = Object.entries({
    ...before,
    [name]: {
      capabilities: {},
      bindings: {},
      kills: {},
      ...before[name],
      ...found,
    },
  });
  const sorted = Object.fromEntries(
    all.toSorted(([one], [other]) => one.localeCompare(other)),
  );
  const text = JSON.stringify(sorted, undefined, 1);
  writeFileSync(
    FILE,
    `${text.replaceAll(CELLS, (cells) => cells.replaceAll(/\n */g, " "))}\n`,
  );
}

/**
 * Renders the table of docs/agents.md: a row for each capability, a column for
 * each agent.
 */
export function agentsTable(recorded: Recorded): string {
  const agents = Object.entries(recorded);
  const names = (
    cellsOf: (agent: AgentRecord) => readonly Cells[],
  ): string[] => [
    ...new Set(
      agents
        .flatMap(([, agent]) => cellsOf(agent))
        .flatMap((cells) => Object.keys(cells)),
    ),
  ];
  return markdownTable([
    ["", ...agents.map(([name, { version }]) => `\`${name}\` ${version}`)],
    ...names(({ capabilities }) => [capabilities]).map((capability) => [
      capability,
      ...agents.map(([, { capabilities }]) => capabilities[capability] ?? "–"),
    ]),
    ["**over each binding**", ...agents.map(() => "")],
    ...names(({ bindings }) => Object.values(bindings)).map((capability) => [
      capability,
      ...agents.map(([, { bindings }]) => overAll(bindings, capability)),
    ]),
    ...names(({ kills }) => Object.values(kills)).map((capability) => [
      capability,
      ...agents.map(([, { kills }]) => overAll(kills, capability)),
    ]),
  ]);
}

/** Returns the words that all bindings share, or the words of each. */
function overAll(
  bindings: Readonly<Record<string, Cells>>,
  capability: string,
): string {
  const found = Object.entries(bindings).map(
    ([binding, cells]) => [binding, cells[capability] ?? "–"] as const,
  );
  const words = [...new Set(found.map(([, word]) => word))];
  if (words.length < 2) return words[0] ?? "–";
  return words
    .map(
      (word) =>
        `${word}: ${found.flatMap(([binding, each]) => (each === word ? [binding] : [])).join(", ")}`,
    )
    .join("; ");
}
