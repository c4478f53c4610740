import type { Io } from "./io.ts";

/**
 * Throws on systems other than Linux: the file tools of the coding agent depend
 * on its `/proc`.
 */
export function assertServes({
  platform = process.platform,
}: Pick<Io, "platform">): void {
  if (platform === "linux") return;
  throw new Error(
    `devtool serves agents on Linux only, and this is ${platform}: run it in a Linux machine or container, and call it from here with --url and --token`,
  );
}
