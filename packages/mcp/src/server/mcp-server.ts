import { setTimeout as delay } from "node:timers/promises";
import { isObject } from "@devtool/internal/json";
import { Code, DevtoolError } from "@devtool/server/agent";
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  SdkError,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { listTools } from "./agent-tools.ts";
import { type CallHost, runCall } from "./calls.ts";
import type { PortTasks } from "./port.ts";
import {
  listTaskResources,
  MAX_WATCHED,
  readTaskResource,
  TASK_TEMPLATE,
  taskIdOf,
  taskStates,
} from "./resources.ts";
import { sendAnswers } from "./task-answers.ts";
import { detailedTask } from "./task-result.ts";
import { TaskServer } from "./task-server.ts";
import {
  missingTasks,
  showsForms,
  TASKS_EXTENSION,
} from "./task-subscriptions.ts";

/** Dependencies of an MCP server in front of a port. */
export interface McpServerOptions extends CallHost {
  /** The version of the server. */
  readonly version: string;
  /** Returns the tasks of the caller of a request. */
  readonly tasksOf: (context: ServerContext) => PortTasks;
  /** Whether the end of a connection withdraws the work of its calls. */
  readonly closingStopsWork: () => boolean;
  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;
}

const INSTRUCTIONS =
  "Each tool agent_… gives work to a coding agent, which works on its own and may ask the user. A result whose state is working names a task that goes on: call task_wait until it has ended. Give the same taskId to go on in a task.";

/** How long a host may keep the list of tools, in milliseconds. */
const TOOLS_TTL_MS = 60_000;

/** The longest time that a timer of Node can wait, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Creates an MCP server with a tool for each agent behind a port. It serves one
 * connection or one request, in the revision that its host speaks.
 */
export function createMcpServer(options: McpServerOptions): Server {
  const server = new TaskServer(
    { name: "devtool", title: "devtool", version: options.version },
    {
      capabilities: {
        tools: {},
        resources: { subscribe: true },
        extensions: { [TASKS_EXTENSION]: {} },
      },
      instructions: INSTRUCTIONS,
      cacheHints: {
        // What a caller may use, and what the host can do, decide the list.
        "tools/list": { ttlMs: TOOLS_TTL_MS, cacheScope: "private" },
        "resources/templates/list": {
          ttlMs: TOOLS_TTL_MS,
          cacheScope: "public",
        },
      },
      // A user may take any time, for any number of questions.
      inputRequired: {
        maxRounds: Number.MAX_SAFE_INTEGER,
        roundTimeoutMs: MAX_TIMER_MS,
      },
    },
  );
  addTools(server, options);
  addResources(server, options);
  addTasks(server, options);
  return server;
}

function addTools(server: Server, options: McpServerOptions): void {
  server.setRequestHandler("tools/list", (_request, context) => ({
    tools: listTools(options.agents, { asksUser: asksUser(server, context) }),
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { signal, _meta: { progressToken } = {} } = context.mcpReq;
    const state = context.mcpReq.requestState<unknown>();
    let progress = 0;
    const asks = asksUser(server, context);
    try {
      return await runCall(options, {
        tool: params.name,
        args: params.arguments,
        tasks: options.tasksOf(context),
        repeats: typeof state === "string" ? state : "",
        responses: context.mcpReq.inputResponses ?? {},
        asksUser: asks,
        takesTask: asks && takesTasks(context),
        progress: (message) => {
          if (progressToken === undefined) return;
          progress++;
          const update = { progressToken, progress, message };
          context.mcpReq
            .notify({ method: "notifications/progress", params: update })
            // The host has gone: the call ends by its signal.
            .catch(() => undefined);
        },
        signal,
        stopsWork: () => stopsWork(signal.reason, options),
      });
    } catch (reason) {
      if (signal.aborted) throw reason;
      const { code, message } = DevtoolError.from(reason);
      if (code === Code.Internal) options.onError(reason);
      return { content: [{ type: "text", text: message }], isError: true };
    }
  });
}

function addResources(server: Server, options: McpServerOptions): void {
  const watched = new WatchedResources(server, options.onError);
  const { tasksOf, onError } = options;
  const inTasks = <T>(
    context: ServerContext,
    uri: string,
    use: (tasks: PortTasks) => Promise<T>,
  ): Promise<T> =>
    protocolErrors(
      () => use(tasksOf(context)),
      onError,
      () => new ResourceNotFoundError(uri),
    );
  server.setRequestHandler("resources/list", ({ params }, context) =>
    inTasks(context, "", (tasks) =>
      listTaskResources(tasks, params?.cursor, context.mcpReq.signal),
    ),
  );
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [TASK_TEMPLATE],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }, context) =>
    inTasks(context, uri, (tasks) =>
      readTaskResource(tasks, uri, context.mcpReq.signal),
    ),
  );
  server.setRequestHandler(
    "resources/subscribe",
    async ({ params: { uri } }, context) => {
      const tasks = tasksOf(context);
      const taskId = taskIdOf(uri);
      const { sequence } = await inTasks(context, uri, () =>
        tasks.get(taskId, context.mcpReq.signal),
      );
      watched.add(uri, tasks, sequence);
      return {};
    },
  );
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    watched.remove(uri);
    return {};
  });
  server.onclose = () => watched.clear();
}

/** The codes of what keeps a task from being followed for a while. */
const PASSING: ReadonlySet<Code> = new Set([
  Code.ResourceExhausted,
  Code.Unavailable,
]);
/**
 * The wait before a task is followed again, in milliseconds. It doubles with
 * each failure until the task changes, up to the maximum.
 */
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

/** The resources whose changes the host of a connection hears of. */
class WatchedResources {
  readonly #server: Server;
  readonly #onError: (reason: unknown) => void;
  readonly #stops = new Map<string, AbortController>();

  constructor(server: Server, onError: (reason: unknown) => void) {
    this.#server = server;
    this.#onError = onError;
  }

  /**
   * Tells the host of changes of a task after those that it knows. Throws a
   * `ProtocolError` over the limit.
   */
  add(uri: string, tasks: PortTasks, known: bigint): void {
    if (this.#stops.has(uri)) return;
    if (this.#stops.size >= MAX_WATCHED) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `uri ${JSON.stringify(uri)} is one more than ${MAX_WATCHED} subscriptions: unsubscribe from another`,
      );
    }
    const stop = new AbortController();
    this.#stops.set(uri, stop);
    void this.#follow(uri, tasks, known, stop.signal)
      .catch((reason: unknown) => {
        if (stop.signal.aborted) return;
        const { code } = DevtoolError.from(reason);
        if (code === Code.Internal) this.#onError(reason);
      })
      .finally(() => {
        // The host may have subscribed again since.
        if (this.#stops.get(uri) === stop) this.#stops.delete(uri);
      });
  }

  /**
   * Tells each change, until the task is over. While it cannot be followed, as
   * when the server is away, tries again, and tells only what has changed since:
   * a host of these revisions cannot be told that its subscription has ended.
   */
  async #follow(
    uri: string,
    tasks: PortTasks,
    sequence: bigint,
    signal: AbortSignal,
  ): Promise<void> {
    let known = sequence;
    let waitMs = FIRST_RETRY_MS;
    for (;;) {
      try {
        const states = taskStates(tasks, taskIdOf(uri), signal);
        for await (const task of states) {
          if (task.sequence === known) continue;
          known = task.sequence;
          waitMs = FIRST_RETRY_MS;
          await this.#server.sendResourceUpdated({ uri });
        }
        return;
      } catch (reason) {
        if (!PASSING.has(DevtoolError.from(reason).code)) throw reason;
      }
      await delay(waitMs, undefined, { signal });
      waitMs = Math.min(waitMs * 2, MAX_RETRY_MS);
    }
  }

  remove(uri: string): void {
    this.#stops.get(uri)?.abort();
    this.#stops.delete(uri);
  }

  clear(): void {
    for (const stop of this.#stops.values()) stop.abort();
  }
}

const TaskParams = z.looseObject({ taskId: z.string().min(1) });

/** Adds the methods of the Tasks extension (SEP-2663). */
function addTasks(server: Server, options: McpServerOptions): void {
  const add = (
    method: string,
    answer: (
      taskId: string,
      tasks: PortTasks,
      context: ServerContext,
    ) => Promise<Record<string, unknown>>,
  ): void =>
    server.setRequestHandler(
      method,
      { params: TaskParams },
      async ({ taskId }, context) => {
        if (!takesTasks(context)) {
          throw missingTasks();
        }
        return protocolErrors(
          () => answer(taskId, options.tasksOf(context), context),
          options.onError,
        );
      },
    );
  add("tasks/get", async (taskId, tasks, context) => {
    const task = detailedTask(await tasks.get(taskId, context.mcpReq.signal));
    if (task.inputRequests && !asksUser(server, context)) throw missingForms();
    return { ...task };
  });
  add("tasks/update", async (taskId, tasks, { mcpReq }) => {
    const responses = readResponses(mcpReq);
    const { signal } = mcpReq;
    const task = await tasks.get(taskId, signal);
    await sendAnswers(
      { tasks, nextId: options.nextId },
      task,
      responses,
      signal,
    );
    return {};
  });
  add("tasks/cancel", async (taskId, tasks, { mcpReq }) => {
    await tasks.get(taskId, mcpReq.signal);
    try {
      await tasks.cancel(taskId, mcpReq.signal);
    } catch (reason) {
      // The task has ended: there is nothing to cancel.
      if (DevtoolError.from(reason).code !== Code.FailedPrecondition) {
        throw reason;
      }
    }
    return {};
  });
}

/** The error for a task that asks what its host cannot ask its user. */
function missingForms(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({
    requiredCapabilities: { elicitation: { form: {} } },
  });
}

function readResponses({
  inputResponses,
  droppedInputResponseKeys: dropped,
}: ServerContext["mcpReq"]): NonNullable<
  ServerContext["mcpReq"]["inputResponses"]
> {
  if (inputResponses && !dropped) return inputResponses;
  const wrong = dropped?.map((key) => `[${JSON.stringify(key)}]`) ?? [""];
  throw new DevtoolError(
    `inputResponses${wrong.join(", ")} is missing or no answer`,
    Code.InvalidArgument,
    { remedy: "send the answers by the keys of inputRequests" },
  );
}

/** Rejects with errors of JSON-RPC in place of those of the port. */
async function protocolErrors<T>(
  run: () => Promise<T>,
  onError: (reason: unknown) => void,
  notFound?: () => ProtocolError,
): Promise<T> {
  try {
    return await run();
  } catch (reason) {
    if (reason instanceof ProtocolError) throw reason;
    const { code, message } = DevtoolError.from(reason);
    if (code === Code.NotFound && notFound) throw notFound();
    if (code === Code.Internal) {
      onError(reason);
      throw new ProtocolError(ProtocolErrorCode.InternalError, message);
    }
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
}

/** Whether a host shows its user forms. */
function asksUser(server: Server, context: ServerContext): boolean {
  return showsForms(
    declaredWith(context) ?? server.getClientCapabilities() ?? {},
  );
}

/** Whether a request declares the Tasks extension. */
function takesTasks(context: ServerContext): boolean {
  const { extensions } = declaredWith(context) ?? {};
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** Returns the capabilities that a request declares, as since 2026-07-28. */
function declaredWith({
  mcpReq,
}: ServerContext): Readonly<Record<string, unknown>> | undefined {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const declared = envelope[CLIENT_CAPABILITIES_META_KEY];
  return isObject(declared) ? declared : undefined;
}

/**
 * Whether a host that withdraws a call wants its work to stop. One that only
 * waits no longer, as hosts do after a time, does not.
 */
function stopsWork(
  reason: unknown,
  { closingStopsWork }: Pick<McpServerOptions, "closingStopsWork">,
): boolean {
  if (reason instanceof SdkError) return closingStopsWork();
  return !/time(d)?[ -]?out/i.test(String(reason));
}
