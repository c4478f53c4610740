import { Text } from "ink";
import type { ReactNode } from "react";

/** Draws lines that fit the terminal. An empty one takes a row as well. */
export function Lines({
  lines,
}: {
  readonly lines: readonly string[];
}): ReactNode {
  if (lines.length === 0) return null;
  return (
    <Text wrap="truncate">{lines.map((line) => line || " ").join("\n")}</Text>
  );
}
