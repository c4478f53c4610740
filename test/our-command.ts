import { fileURLToPath } from "node:url";

/** The file of the built command `devtool`. */
export const MAIN: string = fileURLToPath(
  new URL("../packages/cli/dist/main.js", import.meta.url),
);
