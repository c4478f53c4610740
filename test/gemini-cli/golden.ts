import { readFileSync, writeFileSync } from "node:fs";
import type { Frame } from "./raw-client.ts";

/**
 * Reads the recorded answers of Gemini CLI's own server to a scenario: the
 * frames of each turn.
 */
export function readGolden(name: string): Frame[][] {
  const turns = readFileSync(fileOf(name), "utf8").trimEnd().split("\n\n");
  return turns.map((turn) =>
    turn.split("\n").map((frame) => JSON.parse(frame)),
  );
}

/** Writes recorded turns: a frame a line, and an empty line between turns. */
export function writeGolden(name: string, turns: readonly Frame[][]): void {
  const texts = turns.map((frames) =>
    frames.map((frame) => JSON.stringify(frame)).join("\n"),
  );
  writeFileSync(fileOf(name), `${texts.join("\n\n")}\n`);
}

function fileOf(name: string): URL {
  return new URL(`golden/${name}.jsonl`, import.meta.url);
}
