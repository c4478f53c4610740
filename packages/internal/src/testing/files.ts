import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes a file below a directory, and makes the directories above it. */
export function putFile(
  directory: string,
  path: string,
  content: string | Uint8Array,
): void {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** Returns the text of a file below a directory. Throws if it is not there. */
export function fileText(directory: string, path: string): string {
  return readFileSync(join(directory, path), "utf8");
}
