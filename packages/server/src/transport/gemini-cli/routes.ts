import { callerOf } from "../auth/admitted.ts";
import { ClientGone } from "../http/client-gone.ts";
import { pathOf, type Route } from "../http/route.ts";
import { executeCommand, listCommands } from "./commands.ts";
import { sendFailure } from "./errors.ts";
import type { GeminiCliRoutesOptions } from "./options.ts";
import { createTask, getTask, listTasks } from "./tasks.ts";
import type { Visit } from "./visit.ts";

/**
 * The routes that Gemini CLI's own server has besides A2A.
 *
 * They must come before the routes of A2A 1.0, which has a route for
 * `/tasks/{id}`.
 */
export function geminiCliRoutes(options: GeminiCliRoutesOptions): Route[] {
  const route = (
    method: string,
    pattern: RegExp,
    answer: (visit: Visit, id: string) => Promise<void>,
  ): Route => ({
    name: `${method} ${pattern.source}`,
    access: "token",
    matches: (requested, path) => requested === method && pattern.test(path),
    handle: async (request, response) => {
      using gone = new ClientGone(response, options.shutdown);
      // The ids of the dialect hold no characters that a path would escape.
      const id = pattern.exec(pathOf(request))?.[1] ?? "";
      try {
        await answer(
          {
            ...options,
            ...callerOf(request),
            request,
            response,
            signal: gone.signal,
          },
          id,
        );
      } catch (reason) {
        sendFailure(response, reason, options.onError);
      }
    },
  });
  return [
    route("GET", /^\/listCommands$/, listCommands),
    route("POST", /^\/executeCommand$/, executeCommand),
    route("POST", /^\/tasks$/, createTask),
    route("GET", /^\/tasks\/metadata$/, listTasks),
    route("GET", /^\/tasks\/([^/]+)\/metadata$/, getTask),
  ];
}
