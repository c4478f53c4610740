import { callerOf } from "../auth/admitted.ts";
import { ClientGone } from "../http/client-gone.ts";
import { type HttpRequest, type HttpResponse, pathOf, type Route } from "../http/route.ts";
import { executeCommand, listCommands } from "./commands.ts";
import type { GeminiCliRoutesOptions, Visit } from "./endpoint.ts";
import { sendFailure } from "./errors.ts";
import { createTask, getTask, listTasks } from "./tasks.ts";

export type { GeminiCliRoutesOptions } from "./endpoint.ts";

/** What Gemini CLI's own server has beside A2A. Stand before the routes of A2A 1.0, which know `/tasks/{id}`. */
export function geminiCliRoutes(options: GeminiCliRoutesOptions): Route[] {
  const route = (method: string, pattern: RegExp, handle: (visit: Visit, id: string) => Promise<void>): Route => ({
    name: `${method} ${pattern.source}`,
    access: "token",
    matches: (requested, path) => requested === method && pattern.test(path),
    handle: (request, response) =>
      visited(request, response, options, (visit) => handle(visit, idIn(pattern, request))),
  });
  return [
    route("GET", /^\/listCommands$/, listCommands),
    route("POST", /^\/executeCommand$/, executeCommand),
    route("POST", /^\/tasks$/, createTask),
    route("GET", /^\/tasks\/metadata$/, listTasks),
    route("GET", /^\/tasks\/([^/]+)\/metadata$/, getTask),
  ];
}

/** The id in the path of a request, as it stands there: ids hold nothing that would be escaped. */
function idIn(pattern: RegExp, request: HttpRequest): string {
  return pattern.exec(pathOf(request))?.[1] ?? "";
}

async function visited(
  request: HttpRequest,
  response: HttpResponse,
  options: GeminiCliRoutesOptions,
  handle: (visit: Visit) => Promise<void>,
): Promise<void> {
  using gone = new ClientGone(response, options.shutdown);
  try {
    await handle({ ...options, ...callerOf(request), request, response, signal: gone.signal });
  } catch (reason) {
    sendFailure(response, reason, options.onError);
  }
}
