import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import { Code, DevtoolError } from "@devtool/server/agent";
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  SUBSCRIPTION_ID_META_KEY,
} from "@modelcontextprotocol/server";
import type { PortTasks } from "./port.ts";
import { MAX_WATCHED, taskIdOf, taskStates } from "./resources.ts";
import { detailedTask } from "./task-result.ts";

/** The Tasks extension (SEP-2663), of which the SDK knows only the methods. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/**
 * What stands for a task in the filter of a subscription while the SDK has it:
 * it leaves out `taskIds`, which the Tasks extension adds, but keeps resources.
 */
const STAND_IN = "devtool:notifications-of-task/";

/** Whether a message of a host opens a subscription (2026-07-28). */
export function isListen(message: unknown): message is JsonObject {
  return isObject(message) && message.method === "subscriptions/listen";
}

/**
 * Returns a `subscriptions/listen` as the SDK reads it. Tasks that the caller
 * does not have are left out.
 *
 * Throws a `ProtocolError` for too many, for ids that are not texts, and for a
 * host that does not declare the Tasks extension.
 */
export async function prepareListen(
  message: JsonObject,
  tasks: PortTasks,
  signal: AbortSignal,
): Promise<JsonObject> {
  const params = objectOrEmpty(message.params);
  const { taskIds, ...filter } = objectOrEmpty(params.notifications);
  const uris = textsOf(filter.resourceSubscriptions);
  const ids = textsOf(taskIds ?? []);
  if (taskIds !== undefined && !ids) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `notifications.taskIds ${JSON.stringify(taskIds)} is not a list of ids of tasks`,
    );
  }
  const all = [...(uris ?? []), ...(ids ?? [])];
  const tooMany = all[MAX_WATCHED];
  if (tooMany !== undefined) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `notifications: ${JSON.stringify(tooMany)} is one more than ${MAX_WATCHED} subscriptions: subscribe to the others in another request`,
    );
  }
  if (!ids || taskIds === undefined) return message;
  if (!declaresTasks(params)) throw missingTasks();
  const own: string[] = [];
  for (const id of ids) {
    if (await isKnown(tasks, id, signal)) own.push(id);
  }
  const resourceSubscriptions = [
    ...(uris ?? []),
    ...own.map((id) => `${STAND_IN}${id}`),
  ];
  const notifications = { ...filter, resourceSubscriptions };
  return { ...message, params: { ...params, notifications } };
}

/** The error for a request that only hosts with the Tasks extension may send. */
export function missingTasks(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
}

function declaresTasks(params: JsonObject): boolean {
  const { extensions } = capabilitiesOf(params);
  return isObject(objectOrEmpty(extensions)[TASKS_EXTENSION]);
}

/** Whether the host that sends a message shows its user forms. */
export function sendsForms({ params }: JsonObject): boolean {
  return showsForms(capabilitiesOf(objectOrEmpty(params)));
}

/** Whether a host with these capabilities shows its user forms. */
export function showsForms({
  elicitation,
}: {
  readonly elicitation?: unknown;
}): boolean {
  // An empty object stands for forms.
  return (
    isObject(elicitation) &&
    (elicitation.form !== undefined || elicitation.url === undefined)
  );
}

function capabilitiesOf({ _meta }: JsonObject): JsonObject {
  return objectOrEmpty(objectOrEmpty(_meta)[CLIENT_CAPABILITIES_META_KEY]);
}

function textsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((each) => typeof each === "string");
  return texts.length === value.length ? [...new Set(texts)] : undefined;
}

async function isKnown(
  tasks: PortTasks,
  taskId: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await tasks.get(taskId, signal);
    return true;
  } catch (reason) {
    if (DevtoolError.from(reason).code === Code.NotFound) return false;
    throw reason;
  }
}

/** A subscription that the SDK has opened. */
export interface Subscription {
  readonly id: string | number;
  /** What the host is told of it. */
  readonly acknowledged: JsonObject;
  /** The resources and tasks that it is about. */
  readonly uris: readonly string[];
  readonly taskIds: readonly string[];
}

/** Returns the subscription that a message to a host opens, if it opens one. */
export function openedSubscription(
  message: JsonObject,
): Subscription | undefined {
  if (message.method !== "notifications/subscriptions/acknowledged") {
    return undefined;
  }
  const params = objectOrEmpty(message.params);
  const id = objectOrEmpty(params._meta)[SUBSCRIPTION_ID_META_KEY];
  if (typeof id !== "string" && typeof id !== "number") return undefined;
  const { resourceSubscriptions, ...filter } = objectOrEmpty(
    params.notifications,
  );
  const all = textsOf(resourceSubscriptions) ?? [];
  const uris = all.filter((uri) => !uri.startsWith(STAND_IN));
  const taskIds = all
    .filter((uri) => uri.startsWith(STAND_IN))
    .map((uri) => uri.slice(STAND_IN.length));
  const notifications: JsonObject = {
    ...filter,
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
    ...(taskIds.length > 0 && { taskIds }),
  };
  const acknowledged = { ...message, params: { ...params, notifications } };
  return { id, acknowledged, uris, taskIds };
}

/** A subscription, and what its host can do. */
interface HostSubscription extends Subscription {
  /** Whether the host shows its user forms. */
  readonly asksUser: boolean;
}

/**
 * Tells a host what its subscription is about, until the signal aborts: each
 * task as it is and each time its status changes, and each change of a
 * resource. A host without forms is not told of a status that has questions,
 * which `tasks/get` refuses to it as well.
 *
 * Rejects when one of them cannot be followed: the subscription is over
 * (`endOfSubscription`).
 */
export async function serveSubscription(
  { id, uris, taskIds, asksUser }: HostSubscription,
  tasks: PortTasks,
  notify: (message: JsonObject) => void,
  signal: AbortSignal,
): Promise<void> {
  const tell = (method: string, about: object): void => {
    const _meta = { [SUBSCRIPTION_ID_META_KEY]: id };
    const params = JSON.parse(JSON.stringify({ ...about, _meta }));
    notify({ jsonrpc: "2.0", method, params });
  };
  await Promise.all([
    ...uris.map((uri) =>
      tellChanges(
        tasks,
        uri,
        () => tell("notifications/resources/updated", { uri }),
        signal,
      ),
    ),
    ...taskIds.map((taskId) =>
      whileWanted(signal, async () => {
        for await (const task of taskStates(tasks, taskId, signal)) {
          const detailed = detailedTask(task);
          if (detailed.inputRequests && !asksUser) continue;

          tell("notifications/tasks", detailed);
        }
      }),
    ),
  ]);
}

/** Returns the error with which a subscription ends that cannot be served. */
export function endOfSubscription(
  { id }: Pick<Subscription, "id">,
  reason: unknown,
): JsonObject {
  const { message } = DevtoolError.from(reason);
  const error = { code: ProtocolErrorCode.InternalError, message };
  return { jsonrpc: "2.0", id, error };
}

/**
 * Tells each change of a task's resource until the task ends or the signal
 * aborts. A task that the caller does not have never changes.
 *
 * Rejects when the task cannot be followed.
 */
async function tellChanges(
  tasks: PortTasks,
  uri: string,
  tell: () => Promise<void> | void,
  signal: AbortSignal,
): Promise<void> {
  await whileWanted(signal, async () => {
    let isFirst = true;
    for await (const _ of taskStates(tasks, taskIdOf(uri), signal)) {
      if (!isFirst) await tell();
      isFirst = false;
    }
  });
}

async function whileWanted(
  signal: AbortSignal,
  run: () => Promise<void>,
): Promise<void> {
  try {
    await run();
  } catch (reason) {
    if (signal.aborted || reason instanceof ProtocolError) return;
    if (DevtoolError.from(reason).code !== Code.NotFound) throw reason;
  }
}
