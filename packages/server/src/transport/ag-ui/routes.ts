import { TaskService } from "@devtool/schema";
import { decodeRunInput } from "@devtool/schema/ag-ui";
import { Code, quoted } from "../../errors.ts";
import { agentKey } from "../../handler/addressed-agent.ts";
import { contextValuesFor } from "../../handler/caller.ts";
import { callerOf } from "../auth/admitted.ts";
import { streamFrames } from "../http/answer.ts";
import { assertJson, readBody } from "../http/body.ts";
import { ClientGone } from "../http/client-gone.ts";
import { RequestContext } from "../http/request-context.ts";
import { headerOf, type Route } from "../http/route.ts";
import { errorEvent, NotAcceptable, sendRefusal } from "./errors.ts";
import type { AgUiRoutesOptions } from "./options.ts";
import { runFrames } from "./run.ts";

/**
 * The route of AG-UI: `POST /ag-ui` starts a run, and answers with its events
 * as server-sent events.
 */
export function agUiRoutes(options: AgUiRoutesOptions): Route[] {
  const { agent = "", maxRequestBytes, shutdown, onError } = options;
  return [
    {
      name: "POST /ag-ui",
      access: "token",
      matches: (method, path) => method === "POST" && path === "/ag-ui",
      async handle(request, response) {
        using gone = new ClientGone(response, shutdown);
        try {
          assertJson(request);
          const accept = headerOf(request, "accept");
          // A client that names no media type takes all of them.
          if (
            accept !== "" &&
            !/text\/event-stream|text\/\*|\*\/\*/i.test(accept)
          ) {
            throw new NotAcceptable(
              `accept ${quoted(accept)} names no form of a run`,
              Code.InvalidArgument,
              {
                remedy: "accept text/event-stream",
              },
            );
          }
          const input = decodeRunInput(
            await readBody(request, maxRequestBytes),
          );
          const values = contextValuesFor(callerOf(request)).set(
            agentKey,
            agent,
          );
          const call = {
            method: TaskService.method.subscribeTask,
            protocolName: "ag-ui",
            signal: gone.signal,
            values,
          };
          const context = new RequestContext(request, call);
          await streamFrames(
            response,
            runFrames({ ...options, context, input }),
            () => ({}),
            {
              endpoint: options,
              wrap: (result) => result,
              error: (reason) => JSON.stringify(errorEvent(reason, onError)),
            },
          );
        } catch (reason) {
          sendRefusal(response, reason);
        }
      },
    },
  ];
}
