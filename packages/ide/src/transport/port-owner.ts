import { readFileSync } from "node:fs";

/** The state of a socket that listens, in the tables of Linux. */
const LISTENS = "0A";

/**
 * Returns the users whose processes listen at a port of this machine.
 * Undefined where that cannot be read, which is everywhere but on Linux.
 *
 * A file outlives the process that it names: whoever takes the port after it
 * gets the token of the file, and would answer in the name of the editor.
 */
export function usersAtPort(port: number): readonly number[] | undefined {
  try {
    return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) =>
      usersIn(readFileSync(table, "utf8"), port),
    );
  } catch {
    return undefined;
  }
}

function usersIn(table: string, port: number): number[] {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, local, , state]) => state === LISTENS && local?.endsWith(`:${hex}`),
    )
    .map((fields) => Number(fields[7]));
}
