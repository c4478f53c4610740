import type { Sandbox } from "./sandbox.ts";

/**
 * Returns a sandbox that confines nothing: a command can do what this process
 * can. The notice says why there is no better one.
 */
export function noSandbox(notice: string): Sandbox {
  return {
    name: "none",
    confines: false,
    promise: "a command can do what this process can",
    notice,
    command: async ({
      argv,
      workingDirectory,
      environment,
      shell,
      limits,
    }) => ({
      argv,
      workingDirectory,
      environment,
      shell,
      inputs: [],
      supervised: false,
      limits,
    }),
    canGrant: () => true,
  };
}
