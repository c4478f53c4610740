import { createServer } from "node:http";
import { create } from "@bufbuild/protobuf";
import { TaskSchema, TaskService, TaskState } from "@devtool/schema";
import { OPERATOR } from "../src/handler/caller.ts";
import {
  guardedHandler,
  type ServerMethods,
} from "../src/handler/guarded-handler.ts";
import type { RequestHandler } from "../src/handler/request-handler.ts";
import { StreamLimit } from "../src/handler/stream-limit.ts";
import { SigningKeys } from "../src/keys/signing-keys.ts";
import { admit } from "../src/transport/auth/admitted.ts";
import type { DialectServices } from "../src/transport/dialect.ts";
import { Heartbeats } from "../src/transport/http/heartbeats.ts";
import { pathOf, type Route } from "../src/transport/http/route.ts";

/** Served routes without authentication. */
export interface ServedRoutes extends AsyncDisposable {
  readonly url: string;
}

/** Serves routes on a free port. Every caller counts as the operator. */
export async function serveRoutes(
  routes: readonly Route[],
): Promise<ServedRoutes> {
  const server = createServer((request, response) => {
    const route = routes.find(({ matches }) =>
      matches(request.method ?? "", pathOf(request)),
    );
    admit(request, OPERATOR);
    void route?.handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/`, [Symbol.asyncDispose]: close };
}

/** The services of a server with one agent, whose requests go to a handler. */
export function servicesWith(handler: RequestHandler): DialectServices {
  return {
    handler,
    agent: "",
    about: {
      name: "test",
      description: "",
      version: "1",
      extensionRequired: false,
      security: { certificates: false },
    },
    agents: new Map(),
    assertKnown: () => undefined,
    baseUrl: "http://127.0.0.1",
    maxRequestBytes: 1024,
    heartbeats: new Heartbeats(60_000),
    shutdown: new AbortController().signal,
    startedAt: new Date(0),
    signingKey: async () => ({
      ...(await new SigningKeys({ now: Date.now }).current()),
      jwksUrl: "",
    }),
    a2a: {},
    nextId: () => "id",
    onError: () => undefined,
    served: () => [],
  };
}

/**
 * Creates a handler with one task, whose log has one event. Reports when a
 * reader is released.
 */
export function silentHandler(
  onGone: () => void,
  { push, commands }: Partial<ServerMethods> = {},
): RequestHandler {
  const none = {};
  const methods: ServerMethods = {
    tasks: {
      getTask: () => ({
        task: create(TaskSchema, {
          id: "t",
          contextId: "c",
          state: TaskState.WORKING,
          sequence: 1n,
        }),
      }),
      async *subscribeTask(
        _request: unknown,
        { signal }: { readonly signal: AbortSignal },
      ) {
        const created = { case: "created" as const, value: {} };
        yield create(TaskService.method.subscribeTask.output, {
          event: {
            sequence: 1n,
            taskId: "t",
            contextId: "c",
            payload: created,
          },
        });
        await new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        onGone();
      },
      sendMessage: () => none,
      cancelTask: () => none,
      listTasks: () => none,
      withdrawMessage: () => none,
      renameTask: () => none,
      setGoalState: () => none,
      deleteTask: () => none,
      async *streamMessage() {},
      async *watchTasks() {},
    },
    commands: commands ?? {
      getAllSlashCommands: () => none,
      runSlashCommand: () => none,
    },
    push: push ?? {
      setPushConfig: () => none,
      getPushConfig: () => none,
      listPushConfigs: () => none,
      deletePushConfig: () => none,
    },
    audit: { async *readAudit() {} },
    backups: { async *createBackup() {} },
    agents: {
      listAgents: () => none,
      listModels: () => none,
      registerAgent: () => none,
      unregisterAgent: () => none,
      listFoundAgents: () => none,
    },
    workspaces: {
      listCheckpoints: () => none,
      getWorkspaceSettings: () => none,
    },
  };
  return {
    ...guardedHandler(methods, { interceptors: [], operations: undefined }),
    offers: () => Promise.resolve({ tools: [], mcpServers: [] }),
    recipientOf: () => Promise.resolve(""),
    assertKept: () => Promise.resolve(),
    streams: new StreamLimit(10),
  };
}
