import { stripVTControlCharacters } from "node:util";
import jsQR from "jsqr";

/**
 * How a line of blocks begins: in black on white, each block with two modules
 * above each other.
 */
const BLACK_ON_WHITE = "\u001b[38;5;16;48;5;231m";

/** Width and height of a module in pixels. */
const SCALE = 4;

/**
 * Reads the QR code in what a command has printed, as a camera sees it: by its
 * pixels. Undefined when there is none.
 */
export function readPrintedCode(printed: string): string | undefined {
  const coloured = printed
    .split("\n")
    .filter((line) => line.startsWith(BLACK_ON_WHITE));
  const lines = coloured.map((line) => [...stripVTControlCharacters(line)]);
  const rows = lines.flatMap((blocks) => [
    blocks.map((block) => block === "█" || block === "▀"),
    blocks.map((block) => block === "█" || block === "▄"),
  ]);
  const width = (rows[0]?.length ?? 0) * SCALE;
  const height = rows.length * SCALE;
  if (width === 0) return undefined;
  const pixels = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let at = 0; at < width * height; at++) {
    const isDark =
      rows[Math.floor(at / width / SCALE)]?.[Math.floor((at % width) / SCALE)];
    if (isDark) pixels.fill(0, at * 4, at * 4 + 3);
  }
  return jsQR.default(pixels, width, height, {
    inversionAttempts: "dontInvert",
  })?.data;
}
