import { isObject, listOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import type { OfferedModel, StdioCommand } from "@devtool/server/agent";
import { AppServer, type AppServerLimits } from "./app-server/app-server.ts";

/** The maximum number of pages of models that are read. */
const MAX_PAGES = 20;

/**
 * Lists the models that Codex shows its users, in an app-server that is started
 * for that.
 *
 * Throws a `DevtoolError` when the app-server cannot be started, refuses, or is
 * late.
 */
export async function listCodexModels(
  command: StdioCommand,
  limits: AppServerLimits,
  signal: AbortSignal,
): Promise<OfferedModel[]> {
  await using server = await AppServer.start(command, limits, signal);
  const models: OfferedModel[] = [];
  let cursor = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const reply = await server.request(
      "model/list",
      cursor === "" ? {} : { cursor },
      signal,
    );
    for (const { model, displayName } of listOrEmpty(reply.data).filter(
      isObject,
    )) {
      const name = stringOrEmpty(model);
      if (name === "") continue;
      models.push({ name, displayName: stringOrEmpty(displayName) });
    }
    cursor = stringOrEmpty(reply.nextCursor);
    if (cursor === "") break;
  }
  return models;
}
