import type { Sandbox } from "./sandbox.ts";

/** Confines nothing: a command can do what the server's user can do. The notice says why there is nothing better. */
export function noSandbox(notice: string): Sandbox {
  return {
    name: "none",
    confines: false,
    notice,
    command: async ({ argv, workingDirectory, environment, shell, limits }) => ({
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
