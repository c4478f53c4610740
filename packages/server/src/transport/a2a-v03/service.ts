import {
  AgentService,
  decodeMessageSend,
  decodePushConfig,
  decodePushConfigParams,
  decodeTaskId,
  decodeTaskList,
  decodeTaskQuery,
} from "@devtool/schema/a2a-v03";
import { cancelTask, findTask } from "../a2a/method.ts";
import { ownOperations } from "./commands.ts";
import { extendedCard } from "./extended-card.ts";
import { encodeTaskFor } from "./frames.ts";
import { listTasks } from "./list-tasks.ts";
import { resubscribe, sendMessage, streamMessage } from "./messages.ts";
import { type Operation, operationsOf, streaming, unary } from "./operation.ts";
import type { A2aV03ServiceOptions } from "./options.ts";
import { deleteConfig, getConfig, listConfigs, setConfig } from "./push-configs.ts";

/**
 * Implements A2A 0.3, and the methods beside it, in terms of our own services.
 *
 * Returns the operations by the names of their methods in JSON-RPC. Both bindings call these.
 */
export function createA2aV03Service(options: A2aV03ServiceOptions): ReadonlyMap<string, Operation> {
  const { handler } = options;
  const operations = operationsOf(AgentService, {
    sendMessage: unary(decodeMessageSend, (request, call) => sendMessage(options, request, call)),
    streamMessage: streaming(decodeMessageSend, (request, call) => streamMessage(options, request, call)),
    getTask: unary(decodeTaskQuery, async ({ taskId, historyLength }, call) =>
      encodeTaskFor(call, await findTask(handler, call, taskId), historyLength),
    ),
    listTasks: unary(decodeTaskList, (query, call) => listTasks(handler, query, call)),
    cancelTask: unary(decodeTaskId, async (taskId, call) =>
      encodeTaskFor(call, await cancelTask(handler, call, taskId)),
    ),
    resubscribeTask: streaming(decodeTaskId, (taskId, call) => resubscribe(handler, taskId, call)),
    setPushConfig: unary(decodePushConfig, (config, call) => setConfig(handler, config, call)),
    getPushConfig: unary(decodePushConfigParams, (place, call) => getConfig(handler, place, call)),
    listPushConfigs: unary(decodePushConfigParams, (place, call) => listConfigs(handler, place, call)),
    deletePushConfig: unary(decodePushConfigParams, (place, call) => deleteConfig(handler, place, call)),
    getAuthenticatedExtendedCard: unary(
      () => undefined,
      (_nothing, call) => extendedCard(options, call),
    ),
  });
  return new Map([...operations, ...ownOperations(handler).map((own) => [own.name, own] as const)]);
}
