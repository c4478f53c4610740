import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  decodeRfcJson,
  ExecuteSlashCommandRequestSchema,
  ExecuteSlashCommandResponseSchema,
  encodeRfcJson,
  GetAllSlashCommandsResponseSchema,
  type PushConfig,
  type PushService,
  type RunSlashCommandRequest,
  SendMessageRequestSchema,
  type SlashCommandService,
  type TaskEvent,
  type TaskService,
  TaskState,
} from "@devtool/schema";
import {
  decodePushConfig,
  decodeStreamFrame,
  encodeMessageSend,
  encodePushConfig,
  settingsMetadata,
} from "@devtool/schema/a2a-v03";
import type { Frame, JsonRpcEndpoint } from "./json-rpc-endpoint.ts";
import { decodeAnswer } from "./peer.ts";
import { eventsFromFrame, type FrameEvents, type StreamPosition, taskFromAnswer } from "./plain-agent.ts";

/** Tasks over A2A 0.3. */
export function taskImpl(endpoint: JsonRpcEndpoint): ServiceImpl<typeof TaskService> {
  return {
    async sendMessage(request, { signal }) {
      const answer = await endpoint.call("message/send", encodeMessageSend(request), signal);
      return { task: decodeAnswer(() => taskFromAnswer(answer)) };
    },
    async *streamMessage({ request }, { signal }) {
      const params = encodeMessageSend(request ?? create(SendMessageRequestSchema));
      const frames = endpoint.stream({ method: "message/stream", params }, signal);
      for await (const event of eventsOf(frames, startOf(0n, request?.taskId ?? ""))) yield { event };
    },
    async getTask({ taskId }, { signal }) {
      const answer = await endpoint.call("tasks/get", { id: taskId }, signal);
      return { task: decodeAnswer(() => taskFromAnswer(answer)) };
    },
    listTasks() {
      throw new ConnectError("A2A 0.3 has no list of tasks: use Connect or gRPC", Code.Unimplemented);
    },
    async cancelTask({ taskId }, { signal }) {
      const answer = await endpoint.call("tasks/cancel", { id: taskId }, signal);
      return { task: decodeAnswer(() => taskFromAnswer(answer)) };
    },
    async *subscribeTask({ taskId, afterSequence }, { signal }) {
      const call = { method: "tasks/resubscribe", params: { id: taskId }, lastEventId: afterSequence };
      const start = startOf(afterSequence, afterSequence === 0n ? "" : taskId);
      for await (const event of eventsOf(endpoint.stream(call, signal), start)) yield { event };
    },
  };
}

/** Slash commands over A2A 0.3. */
export function slashCommandImpl(endpoint: JsonRpcEndpoint): ServiceImpl<typeof SlashCommandService> {
  return {
    async getAllSlashCommands(place, { signal }) {
      const params = placeParams(place);
      return decodeRfcJson(GetAllSlashCommandsResponseSchema, await endpoint.call("commands/get", params, signal));
    },
    async runSlashCommand({ command, ...place }, { signal }) {
      const params: JsonObject = {
        ...encodeRfcJson(ExecuteSlashCommandRequestSchema, command ?? create(ExecuteSlashCommandRequestSchema)),
        ...placeParams(place),
      };
      return {
        result: decodeRfcJson(
          ExecuteSlashCommandResponseSchema,
          await endpoint.call("command/execute", params, signal),
        ),
      };
    },
  };
}

/** Where commands belong, as a message has it: beside the RFC's own fields. */
function placeParams({ contextId, settings }: Pick<RunSlashCommandRequest, "contextId" | "settings">): JsonObject {
  return {
    ...(contextId !== "" && { contextId }),
    ...(settings && { metadata: settingsMetadata({ settings }) }),
  };
}

/** Push notification configs over A2A 0.3. */
export function pushImpl(endpoint: JsonRpcEndpoint): ServiceImpl<typeof PushService> {
  const call = (verb: string, params: JsonObject, signal: AbortSignal): Promise<JsonValue> =>
    endpoint.call(`tasks/pushNotificationConfig/${verb}`, params, signal);
  return {
    async setPushConfig({ config }, { signal }) {
      return { config: decodePushConfig(await call("set", config ? encodePushConfig(config) : {}, signal)) };
    },
    async getPushConfig({ taskId, configId }, { signal }) {
      return {
        config: decodePushConfig(await call("get", { id: taskId, pushNotificationConfigId: configId }, signal)),
      };
    },
    async listPushConfigs({ taskId }, { signal }) {
      return { configs: configsOf(await call("list", { id: taskId }, signal)) };
    },
    async deletePushConfig({ taskId, configId }, { signal }) {
      await call("delete", { id: taskId, pushNotificationConfigId: configId }, signal);
      return {};
    },
  };
}

function configsOf(json: JsonValue): PushConfig[] {
  return Array.isArray(json) ? json.map(decodePushConfig) : [];
}

/** Where a stream begins: behind an event, in a task of which something is known. */
function startOf(sequence: bigint, taskId: string): StreamPosition {
  return { sequence, taskId, contextId: "", state: TaskState.WORKING };
}

/** The events of a stream; where the server gives no ids, they are counted from the position that was asked for. */
async function* eventsOf(frames: AsyncIterable<Frame>, start: StreamPosition): AsyncIterable<TaskEvent> {
  let position = start;
  let end: TaskEvent | undefined;
  for await (const frame of frames) {
    const told = decodeAnswer(() => eventsOfFrame(frame, position));
    end = told.end;
    for (const event of told.events) {
      position = event.sequence === 0n ? { ...event, sequence: position.sequence + 1n } : event;
      yield { ...event, sequence: position.sequence };
    }
  }
  if (end) yield { ...end, sequence: position.sequence + 1n };
}

function eventsOfFrame({ result, id }: Frame, position: StreamPosition): FrameEvents {
  if (id === undefined || !/^\d{1,18}$/.test(id)) return eventsFromFrame(result, position);
  return { events: [decodeStreamFrame(result, BigInt(id))] };
}
