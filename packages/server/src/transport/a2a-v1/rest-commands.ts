import { type HttpRequest, type HttpResponse, type Route, takesStream } from "../http/route.ts";
import { assertVersion } from "./call.ts";
import { COMMANDS, runCommand } from "./commands.ts";
import type { Endpoint } from "./endpoint.ts";
import { contextOf } from "./operation.ts";
import { jsonBodyOf, respondTo } from "./rest-response.ts";
import { versionOf } from "./version.ts";

/** The methods of the extension over HTTP+JSON (CMD-1): `GET /commands` and `POST /commands:execute`. */
export function restCommandRoutes(endpoint: Endpoint): Route[] {
  const rows = [
    ["GET", "/commands", "commands/get"],
    ["POST", "/commands:execute", "command/execute"],
  ] as const;
  return rows.map(([httpMethod, template, method]) => ({
    name: `${httpMethod} ${template}`,
    access: "token",
    matches: (asked, path) => asked === httpMethod && path === template,
    handle: (request, response) => handle(request, response, { endpoint, method }),
  }));
}

function handle(
  request: HttpRequest,
  response: HttpResponse,
  { endpoint, method }: { readonly endpoint: Endpoint; readonly method: string },
): Promise<void> {
  return respondTo(request, response, endpoint, async (signal) => {
    assertVersion(versionOf(request));
    const query = new URLSearchParams((request.url ?? "").split("?", 2)[1] ?? "");
    const isRead = request.method === "GET";
    const params = isRead ? Object.fromEntries(query) : await jsonBodyOf(request, endpoint.maxRequestBytes);
    const descriptor = COMMANDS.get(method);
    if (!descriptor) throw new TypeError(`${method} is not a method of the extension`);
    const context = contextOf(request, { method: descriptor }, signal);
    const streams = !isRead && takesStream(request);
    const answer = await runCommand(endpoint, { method, params }, { context, takesStream: streams });
    return { answer, headers: () => context.answerHeaders };
  });
}
