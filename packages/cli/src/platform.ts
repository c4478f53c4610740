import type { Io } from "./io.ts";

/** Throws where no agent can work: file tools confine the workspace by means that only Linux has. */
export function assertServes({ platform = process.platform }: Pick<Io, "platform">): void {
  if (platform === "linux") return;
  throw new Error(
    `devtool serves agents on Linux only, and this is ${platform}: run it in a Linux machine or container, and call it from here with --url and --token`,
  );
}
