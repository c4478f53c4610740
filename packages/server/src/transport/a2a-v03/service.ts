import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { encodeRfcJson } from "@devtool/schema";
import {
  agentCardFromV03,
  AgentCardSchema as CardV1Schema,
  encodeA2aJson,
} from "@devtool/schema/a2a-v1";
import {
  AgentCardSchema,
  AgentService,
  decodeMessageSend,
  decodePushConfig,
  decodePushConfigParams,
  decodeTaskId,
  decodeTaskList,
  decodeTaskQuery,
  encodeTask,
  neededMessages,
} from "@devtool/schema/a2a-v03";
import {
  findTask,
  type RequestHandler,
} from "../../handler/request-handler.ts";
import { hybridSecuritySchemes, withCommandSkills } from "../a2a/card.ts";
import { listedTask, summaryTask } from "../a2a/listed-task.ts";
import { cancelTask, type MethodCall } from "../a2a/method.ts";
import type { DialectServices } from "../dialect.ts";
import { agentCard } from "./card.ts";
import { ownOperations } from "./commands.ts";
import { encodeTaskFor } from "./frames.ts";
import { resubscribe, sendMessage, streamMessage } from "./messages.ts";
import { type Operation, operationsOf, streaming, unary } from "./operation.ts";
import {
  deleteConfig,
  getConfig,
  listConfigs,
  setConfig,
} from "./push-configs.ts";

/**
 * Implements A2A 0.3, and the methods beside it, in terms of our own services.
 *
 * Returns the operations by the names of their methods in JSON-RPC. Both
 * bindings call these.
 */
export function createA2aV03Service(
  services: DialectServices,
): ReadonlyMap<string, Operation> {
  const { handler } = services;
  const operations = operationsOf(AgentService, {
    sendMessage: unary(decodeMessageSend, (request, call) =>
      sendMessage(services, request, call),
    ),
    streamMessage: streaming(decodeMessageSend, (request, call) =>
      streamMessage(services, request, call),
    ),
    getTask: unary(decodeTaskQuery, async ({ taskId, historyLength }, call) =>
      encodeTaskFor(
        call,
        await findTask(handler, call, taskId, (task) =>
          neededMessages(task, { historyLength }),
        ),
        defined({ historyLength }),
      ),
    ),
    listTasks: unary(decodeTaskList, (query, call) =>
      listTasks(handler, query, call),
    ),
    cancelTask: unary(decodeTaskId, async (taskId, call) =>
      encodeTaskFor(call, await cancelTask(handler, call, taskId)),
    ),
    resubscribeTask: streaming(decodeTaskId, (taskId, call) =>
      resubscribe(handler, taskId, call),
    ),
    setPushConfig: unary(decodePushConfig, (config, call) =>
      setConfig(handler, config, call),
    ),
    getPushConfig: unary(decodePushConfigParams, (place, call) =>
      getConfig(handler, place, call),
    ),
    listPushConfigs: unary(decodePushConfigParams, (place, call) =>
      listConfigs(handler, place, call),
    ),
    deletePushConfig: unary(decodePushConfigParams, (place, call) =>
      deleteConfig(handler, place, call),
    ),
    getAuthenticatedExtendedCard: unary(
      () => undefined,
      (_nothing, call) => extendedCard(services, call),
    ),
  });
  return new Map([
    ...operations,
    ...ownOperations(handler).map((own) => [own.name, own] as const),
  ]);
}

/**
 * Lists the caller's tasks, those changed last first, without history and
 * artifacts unless the query asks for them.
 *
 * A2A 0.3 names `GET /v1/tasks` and says no more about it (section 3.5.6).
 * Parameters and pages are those of A2A 1.0.
 */
async function listTasks(
  handler: RequestHandler,
  query: ReturnType<typeof decodeTaskList>,
  call: MethodCall,
): Promise<JsonObject> {
  const { historyLength, includeArtifacts } = query;
  const page = await handler.tasks.listTasks(query, call.context);
  const tasks: JsonValue[] = [];
  for (const summary of page.tasks) {
    if (historyLength === 0 && !includeArtifacts) {
      tasks.push(
        encodeTask(summaryTask(summary), { view: "plain", historyLength: 0 }),
      );
    } else {
      const task = await listedTask(handler, call, summary, historyLength);
      const json = encodeTaskFor(call, task, { historyLength });
      const { artifacts, ...rest } = json;
      tasks.push(includeArtifacts ? json : rest);
    }
  }
  return { tasks, nextPageToken: page.nextPageToken };
}

/**
 * Returns the card for authenticated callers: the public one with a skill for
 * each slash command of the default workspace.
 *
 * Its security schemes have the fields of both forms in A2A 0.3, since clients
 * of HTTP+JSON read either.
 */
async function extendedCard(
  services: DialectServices,
  { context }: MethodCall,
): Promise<JsonObject> {
  services.assertKnown(context);
  const card = await withCommandSkills(
    agentCard(services),
    services.handler,
    context,
  );
  const v03 = encodeRfcJson(AgentCardSchema, card);
  const v1 = encodeA2aJson(CardV1Schema, agentCardFromV03(card));
  return {
    ...v03,
    securitySchemes: hybridSecuritySchemes(
      v03.securitySchemes,
      v1.securitySchemes,
    ),
  };
}
