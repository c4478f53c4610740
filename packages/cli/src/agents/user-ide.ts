import type { CodingServerOptions } from "@devtool/coding-agent";
import { loadOnce } from "@devtool/internal/load-once";
import type { Io } from "../io.ts";

/**
 * Returns the editors of this user, which are loaded when a session first asks
 * for one.
 */
export function userIde(
  env: Io["env"],
): NonNullable<CodingServerOptions["ide"]> {
  let isUsed = false;
  const links = loadOnce(async () => {
    const { IdeLinks } = await import("@devtool/ide/operator");
    return new IdeLinks(env);
  });
  return {
    async connect(workspacePath, signal) {
      isUsed = true;
      return await (await links()).connect(workspacePath, signal);
    },
    async [Symbol.asyncDispose]() {
      if (isUsed) await (await links())[Symbol.asyncDispose]();
    },
  };
}
