import { SandboxError } from "./sandbox-error.ts";

/**
 * Returns the environment variables of a confined program, to be set inside of
 * the sandbox.
 *
 * Whoever names the program chooses them, so they must not reach the processes
 * that start the sandbox: `BASH_ENV`, `LD_PRELOAD` or `NODE_OPTIONS` would run
 * code there. Throws for a variable that could be taken for something else, such
 * as a further argument.
 */
export function programVariables(
  environment: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const variables = Object.entries(environment);
  const wrong = variables.find(
    ([name, value]) => !/^[^=\0]+$/.test(name) || value.includes("\0"),
  );
  if (wrong) {
    throw new SandboxError(
      `environment variable ${JSON.stringify(wrong[0])} is not valid: its name is empty or contains "=", or there is a NUL character in it`,
      "cannot-confine",
      { remedy: "remove it" },
    );
  }
  return new Map(variables);
}
