import type { JsonObject } from "@bufbuild/protobuf";
import { Code, DevtoolError } from "@devtool/server/agent";
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
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { CALL_MS } from "./calls.ts";
import { handlerTasks } from "./handler-tasks.ts";
import { withNotifications } from "./listen-response.ts";
import { createMcpServer, type McpServerOptions } from "./mcp-server.ts";
import { McpSessions } from "./mcp-sessions.ts";
import type { PortAgent, PortTasks } from "./port.ts";
import {
  isListen,
  prepareListen,
  sendsForms,
  serveSubscription,
} from "./task-subscriptions.ts";
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
    const tasks = handlerTasks(handler, context, context.signal);
    const modern = createMcpHandler(
      () =>
        createMcpServer({
          ...this.#options(() => tasks),
          closingStopsWork: () => !shutdown.aborted,
        }),
      {
        legacy: "reject",
        onerror: noteRefusal,
      },
    );
    if (!isListen(body)) {
      const answer = await modern.fetch(web, { parsedBody: body });
      return sendWebResponse(call, answer);
    }
    const { signal } = context;
    let parsedBody: JsonObject;
    try {
      parsedBody = await prepareListen(body, tasks, signal);
    } catch (reason) {
      if (!(reason instanceof ProtocolError)) throw reason;
      return sendWebResponse(call, refusal(body, reason));
    }
    const opened = await modern.fetch(web, { parsedBody });
    await sendWebResponse(
      call,
      withNotifications(opened, async (subscription, notify, ended) => {
        const until = AbortSignal.any([signal, ended]);
        try {
          await serveSubscription(
            { ...subscription, asksUser: sendsForms(body) },
            tasks,
            notify,
            until,
          );
        } catch (reason) {
          const { code } = DevtoolError.from(reason);
          if (code === Code.Internal) call.report(reason);
          throw reason;
        }
      }),
    );
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

function refusal({ id = null }: JsonObject, reason: ProtocolError): Response {
  const { code, message, data } = reason;
  const error = { code, message, ...(data !== undefined && { data }) };
  const isMissing = code === ProtocolErrorCode.MissingRequiredClientCapability;
  return Response.json(
    { jsonrpc: "2.0", id, error },
    { status: isMissing ? 400 : 200 },
  );
}
