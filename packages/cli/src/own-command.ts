import type { Io } from "./io.ts";

/**
 * Returns this command as its user typed it: through a script of the clone,
 * through `npx`, or by its name.
 */
export function ownCommand(env: Io["env"]): string {
  const { PNPM_SCRIPT_SRC_DIR, INIT_CWD, npm_lifecycle_event } = env;
  const isInClone =
    PNPM_SCRIPT_SRC_DIR !== undefined && PNPM_SCRIPT_SRC_DIR === INIT_CWD;
  if (isInClone) return "npx -y pnpm@12 devtool";
  return npm_lifecycle_event === "npx" ? "npx devtool" : "devtool";
}
