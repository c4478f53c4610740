import { isObject } from "@devtool/internal/json";
import {
  callKeys,
  type DialectServices,
  principalOf,
  type RoutedCall,
  readBody,
} from "@devtool/server/dialect";
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolErrorCode,
  type ServerContext,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { CALL_MS } from "./calls.ts";
import { handlerTasks } from "./handler-tasks.ts";
import { createMcpServer, type McpServerOptions } from "./mcp-server.ts";
import { McpSessions } from "./mcp-sessions.ts";
import type { PortAgent, PortTasks } from "./port.ts";
import { MAX_WATCHED, tellChanges } from "./resources.ts";
import { sendWebResponse, webRequest } from "./web-exchange.ts";

/** Answers the requests of one URL. */
export class McpAnswers {
  readonly #services: DialectServices;
  readonly #sessions: McpSessions;

  constructor(services: DialectServices) {
    this.#services = services;
    const { nextId, shutdown } = services;
    this.#sessions = new McpSessions(
      (tasksOf) =>
        createMcpServer({
          ...this.#options(tasksOf),
          // A connection of these revisions that is lost withdraws nothing.
          closingStopsWork: () => false,
        }),
      { nextId, now: () => performance.now() },
      shutdown,
    );
  }

  async answer(call: RoutedCall): Promise<void> {
    const { context, request, noteRefusal } = call;
    context.values.set(callKeys.binding, "mcp");
    const { handler, maxRequestBytes, shutdown } = this.#services;
    const body =
      request.method === "POST"
        ? parse(await readBody(request, maxRequestBytes))
        : undefined;
    const web = webRequest(call);
    if (await isLegacyRequest(web, body)) {
      const principal = principalOf(context);
      // What the host subscribes to lasts longer than its request.
      const tasks = handlerTasks(handler, context, shutdown);
      const exchange = { request: web, body, principal, tasks };
      return this.#sessions.answer(exchange, (response) =>
        sendWebResponse(call, response),
      );
    }
    const tooMany = subscribedUris(body)[MAX_WATCHED];
    if (tooMany !== undefined) {
      return sendWebResponse(call, refuseSubscription(body, tooMany));
    }
    const tasks = handlerTasks(handler, context, context.signal);
    const modern = createMcpHandler(
      () =>
        createMcpServer({
          ...this.#options(() => tasks),
          closingStopsWork: () => !shutdown.aborted,
        }),
      {
        legacy: "reject",
        bus: taskChanges(tasks, body, context.signal, call.report),
        onerror: noteRefusal,
      },
    );
    await sendWebResponse(call, await modern.fetch(web, { parsedBody: body }));
  }

  #options(
    tasksOf: (context: ServerContext) => PortTasks,
  ): Omit<McpServerOptions, "closingStopsWork"> {
    const { about, nextId, onError } = this.#services;
    return {
      version: about.version,
      agents: agentsOf(this.#services),
      callMs: CALL_MS,
      tasksOf,
      nextId,
      onError,
    };
  }
}

/** Returns the agents that clients of a URL can choose. */
function agentsOf({ agent, about, agents }: DialectServices): PortAgent[] {
  const served =
    agent === "" && agents.size > 0 ? [...agents] : [[agent, about] as const];
  return served.map(
    ([name, { name: displayName, description, skills = [] }]) => ({
      name,
      displayName,
      description,
      skills: skills.map((skill) => ({
        name: skill.name,
        description: skill.description,
      })),
    }),
  );
}

/** What is not JSON stays as it is, and is refused as such. */
function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/**
 * Returns the changes of the tasks that a `subscriptions/listen` names as
 * resources. Those that the caller does not have never change.
 */
function taskChanges(
  tasks: PortTasks,
  body: unknown,
  signal: AbortSignal,
  report: (reason: unknown) => void,
): ServerEventBus {
  return {
    publish: () => undefined,
    subscribe: (listener) => {
      const stop = new AbortController();
      const until = AbortSignal.any([signal, stop.signal]);
      for (const uri of subscribedUris(body)) {
        const tell = (): void => listener({ kind: "resource_updated", uri });
        void tellChanges(tasks, uri, tell, until).catch(report);
      }
      return () => stop.abort();
    },
  };
}

function refuseSubscription(body: unknown, uri: string): Response {
  const message = `notifications.resourceSubscriptions: ${JSON.stringify(uri)} is one more than ${MAX_WATCHED}: subscribe to the others in another request`;
  return Response.json({
    jsonrpc: "2.0",
    id: isObject(body) ? (body.id ?? null) : null,
    error: { code: ProtocolErrorCode.InvalidParams, message },
  });
}

function subscribedUris(body: unknown): string[] {
  const params = isObject(body) ? body.params : undefined;
  const filter = isObject(params) ? params.notifications : undefined;
  const uris = isObject(filter) ? filter.resourceSubscriptions : undefined;
  return Array.isArray(uris)
    ? [...new Set(uris.filter((uri) => typeof uri === "string"))]
    : [];
}
