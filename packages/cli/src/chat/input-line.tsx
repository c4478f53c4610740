import { useCursor } from "ink";
import type { ReactNode } from "react";
import { Lines } from "./lines.tsx";
import type { Input } from "./screen.ts";

/** Properties of `InputLine`. */
export interface InputLineProps {
  readonly input: Input;
  /** The number of rows above it. */
  readonly top: number;
}

/** Shows what the user writes, with the terminal's own cursor in it. */
export function InputLine({
  input: { lines, cursor },
  top,
}: InputLineProps): ReactNode {
  const { setCursorPosition } = useCursor();
  setCursorPosition(cursor && { x: cursor.column, y: top + cursor.row });
  return <Lines lines={lines} />;
}
