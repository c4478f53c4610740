// The names of @devtool/codex/testing: a fake of Codex's app-server. Not part
// of the published package.
import { fileURLToPath } from "node:url";

export { CALLED_METHODS } from "../app-server/app-server.ts";
export type { CodexOptions } from "../codex-options.ts";
export { CARRIED_NOTIFICATIONS } from "../turn/item-stream.ts";
export { CARRIED_REQUESTS } from "../turn/questions.ts";
export { type ProtocolNames, readProtocolNames } from "./protocol-names.ts";

/**
 * The command that starts the fake app-server. It needs `CODEX_HOME` and `PATH`
 * in its environment.
 */
export const FAKE_APP_SERVER: readonly string[] = [
  "env",
  // The program does not inherit this variable, without which each start
  // compiles it again.
  `NODE_COMPILE_CACHE=${process.env.NODE_COMPILE_CACHE ?? ""}`,
  process.execPath,
  fileURLToPath(new URL("./fake-app-server.ts", import.meta.url)),
];

/**
 * The file with the names in the JSON Schema of codex's app-server
 * (`ProtocolNames`), which `pnpm codex-protocol` writes.
 */
export const PROTOCOL_NAMES: string = fileURLToPath(
  new URL("./protocol-names.json", import.meta.url),
);
