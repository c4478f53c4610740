import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
} from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { TaskState } from "@a2a-js/sdk";
import {
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import {
  bearerInterceptor,
  createDevtoolClient,
  textMessage,
} from "@devtool/client";
import { TaskState as State } from "@devtool/schema";
import { createHandler } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  BINDINGS,
  officialClient,
  textPart,
  userMessage,
} from "../a2a/v1/a2a-js-client.ts";
import { clientOf } from "../client-of.ts";
import type { Json } from "../conformance/tck/bindings.ts";
import { freePort } from "../free-port.ts";

const PAGE = "https://page.example";
const EXAMPLE = fileURLToPath(
  new URL("../../examples/express/app.ts", import.meta.url),
);

describe("a server that is mounted below /api of an Express application (examples/express)", () => {
  let application: Application;
  beforeAll(async () => {
    application = await startApplication();
  });
  afterAll(() => application[Symbol.asyncDispose]());

  it("leaves the application as it is", async () => {
    expect(await (await fetch(application.origin)).text()).toBe(
      "The application.",
    );
    expect((await fetch(`${application.origin}/elsewhere`)).status).toBe(404);
  });

  it("has a card whose URLs all lead to it, and which lists no gRPC", async () => {
    const { origin } = application;
    const card: Json = await (
      await fetch(`${origin}/api/.well-known/agent-card.json`)
    ).json();
    expect(card).toMatchObject({ name: "Echo", url: `${origin}/api/` });
    const urls = card.supportedInterfaces.map(
      ({ url }: { readonly url: string }) => url,
    );
    expect(new Set(urls)).toEqual(new Set([`${origin}/api/`, `${origin}/api`]));
    expect(JSON.stringify(card)).not.toContain("GRPC");
  });

  it.each(BINDINGS)(
    "serves the official SDK, from an approval to the end of the task: %s",
    async (binding) => {
      const { origin, token } = application;
      const client = await officialClient(
        { url: `${origin}/api/`, token },
        binding,
      );
      const send = (text: string, place = {}) => {
        const message = userMessage([textPart(text)], place);
        return client.sendMessage({
          tenant: "",
          message,
          configuration: undefined,
          metadata: {},
        });
      };
      const asked = await send("Hello.");
      if (!("status" in asked)) throw new Error("the answer is not a task");
      expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
      const ended = await send("yes", {
        taskId: asked.id,
        contextId: asked.contextId,
      });
      expect(ended).toMatchObject({
        status: { state: TaskState.TASK_STATE_COMPLETED },
      });
    },
  );

  it("serves Connect, and streams of A2A 0.3", async () => {
    const { tasks } = clientAt(`${application.origin}/api`, application.token);
    expect(
      (await tasks.sendMessage({ message: textMessage("c", "Hi.") })).task
        ?.state,
    ).toBe(State.INPUT_REQUIRED);
    const params = {
      message: {
        messageId: "s",
        role: "user",
        parts: [{ kind: "text", text: "Hi." }],
      },
    };
    const response = await post("/api/", {
      jsonrpc: "2.0",
      id: 1,
      method: "message/stream",
      params,
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(await response.text()).toContain('"state":"input-required"');
  });

  it("accepts listed web pages, and refuses others, requests without the token and other hosts", async () => {
    const { origin } = application;
    const preflight = { origin: PAGE, "access-control-request-method": "POST" };
    const allowed = await fetch(`${origin}/api/`, {
      method: "OPTIONS",
      headers: preflight,
    });
    expect([
      allowed.status,
      allowed.headers.get("access-control-allow-origin"),
    ]).toEqual([204, PAGE]);
    const evil = await post("/api/", {}, { origin: "https://evil.example" });
    expect([
      evil.status,
      evil.headers.get("access-control-allow-origin"),
    ]).toEqual([403, null]);
    expect((await post("/api/", {}, { authorization: "" })).status).toBe(401);
    expect(
      (await post("/api/", {}, {}, origin.replace("127.0.0.1", "localhost")))
        .status,
    ).toBe(403);
  });

  it("serves gRPC-Web, and not gRPC, which needs HTTP/2", async () => {
    const { origin, token } = application;
    const interceptors = [bearerInterceptor(token)];
    const web = createGrpcWebTransport({
      baseUrl: `${origin}/api`,
      httpVersion: "1.1",
      interceptors,
    });
    const message = textMessage("g", "Hi.");
    expect(
      (await createDevtoolClient(web).tasks.sendMessage({ message })).task
        ?.state,
    ).toBe(State.INPUT_REQUIRED);
    const grpc = createGrpcTransport({
      baseUrl: `${origin}/api`,
      interceptors,
    });
    await expect(
      createDevtoolClient(grpc).tasks.sendMessage({ message }),
    ).rejects.toThrow();
  });

  it("ends its streams with the reason when it stops, and lets the application end", async () => {
    await using own = await startApplication();
    const { tasks } = clientAt(`${own.origin}/api`, own.token);
    const { task } = await tasks.sendMessage({
      message: textMessage("w", "Wait."),
    });
    const stream = tasks
      .subscribeTask({ taskId: task?.id ?? "" })
      [Symbol.asyncIterator]();
    await stream.next();
    own.stop();
    await expect(
      Array.fromAsync({ [Symbol.asyncIterator]: () => stream }),
    ).rejects.toThrow("the server stops");
    expect(await own.ended).toBe(0);
  });

  function post(
    path: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
    origin = application.origin,
  ): Promise<Response> {
    const all = {
      authorization: `Bearer ${application.token}`,
      "content-type": "application/json",
      ...headers,
    };
    return fetch(`${origin}${path}`, {
      method: "POST",
      headers: all,
      body: JSON.stringify(body),
    });
  }
});

describe("a handler in a server of node:http", () => {
  it("removes the prefix itself", async () => {
    await using mounted = await mount((listener) => listener);
    const response = await fetch(
      `${mounted.publicUrl}/.well-known/agent-card.json`,
    );
    expect(await response.json()).toMatchObject({
      url: `${mounted.publicUrl}/`,
    });
    const { tasks } = clientAt(mounted.publicUrl, mounted.token);
    expect(
      (await tasks.sendMessage({ message: textMessage("m", "Hi.") })).task
        ?.state,
    ).toBe(State.COMPLETED);
  });

  it.each([
    "/deep/api/v1/tasks",
    "/deep/api//v1/tasks",
    "//deep/api/v1/tasks",
    "/deep/../deep/api/v1/tasks",
    "/deep/api/.well-known/../v1/tasks",
    "/deep/api/.well-known/%2e%2e/v1/tasks",
    "/deep/api/healthz/../../api/v1/tasks",
    "/deep/api;/v1/tasks",
    "/deep/apiv1/tasks",
    "/DEEP/API/v1/tasks",
    "/deep/api\\v1\\tasks",
    "http://127.0.0.1/deep/api/v1/tasks",
    "http://app.example/deep/api/v1/tasks",
    "/v1/tasks",
    "*",
  ])(
    "gives nothing to a request without the token, however it writes the path: %s",
    async (target) => {
      await using mounted = await mount((listener) => listener);
      const { tasks } = clientAt(mounted.publicUrl, mounted.token);
      await tasks.sendMessage({ message: textMessage("m", "Hi.") });
      const { host, hostname, port } = new URL(mounted.publicUrl);
      for (const version of ["0.3", "1.0"]) {
        const headers = ["Host", host, "A2A-Version", version];
        const sent = request({
          hostname,
          port,
          path: target,
          headers,
          agent: false,
        }).end();
        const [response]: IncomingMessage[] = await once(sent, "response");
        expect(response?.resume().statusCode).toBeOneOf([400, 401, 403, 404]);
      }
      expect(mounted.errors).toEqual([]);
    },
  );

  it("reports a body that was read before to the operator", async () => {
    await using mounted = await mount(
      (listener) => async (request, response) => {
        for await (const _chunk of request);
        listener(request, response);
      },
    );
    const response = await fetch(mounted.publicUrl, {
      method: "POST",
      body: "{}",
    });
    expect([response.status, mounted.errors]).toEqual([
      500,
      [
        new Error(
          "the body of a request was read already: mount the handler before body parsers",
        ),
      ],
    ]);
  });

  it("answers no more requests once it is closed", async () => {
    await using mounted = await mount((listener) => listener);
    await mounted.close();
    expect((await fetch(`${mounted.publicUrl}/healthz`)).status).toBe(503);
  });

  it("needs a path, and TLS where other machines reach it", async () => {
    await expect(
      createHandler({ agents, publicUrl: "https://app.example" }),
    ).rejects.toThrow(
      'public_url "https://app.example" has no path: mount the handler below one',
    );
    await expect(
      createHandler({ agents, publicUrl: "http://app.example/api" }),
    ).rejects.toThrow("in the clear");
  });
});

const agents = {
  silent: {
    about: { name: "Silent", description: "Says nothing." },
    open: () => ({ createExecutor: () => ({ async *execute() {} }) }),
  },
};

/**
 * Serves a handler in a server of `node:http`, whose listener is what `use`
 * returns.
 */
async function mount(use: (listener: RequestListener) => RequestListener) {
  const errors: unknown[] = [];
  const port = await freePort();
  const handler = await createHandler({
    ...{
      agents,
      publicUrl: `http://127.0.0.1:${port}/deep/api`,
      workspace: process.cwd(),
    },
    onError: (reason) => errors.push(reason),
  });
  const server = createServer(use(handler.listener)).listen(port, "127.0.0.1");
  await once(server, "listening");
  const dispose = async (): Promise<void> => {
    await handler.close();
    await new Promise((resolve) => server.close(resolve));
  };
  const { publicUrl, token } = handler;
  return {
    errors,
    publicUrl,
    token,
    close: () => handler.close(),
    [Symbol.asyncDispose]: dispose,
  };
}

function clientAt(baseUrl: string, token: string) {
  return clientOf({ url: baseUrl, token });
}

/** The example in a process of its own. */
interface Application extends AsyncDisposable {
  readonly origin: string;
  readonly token: string;
  /** Resolves to the exit code of the process. */
  readonly ended: Promise<number | null>;
  stop(): void;
}

async function startApplication(): Promise<Application> {
  const port = await freePort();
  const child = spawn(process.execPath, [EXAMPLE, String(port), PAGE], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit").then(() => child.exitCode);
  const [line]: unknown[] = await once(
    createInterface({ input: child.stdout }),
    "line",
  );
  const token = String(line).split(" ").at(-1) ?? "";
  const stop = (): void => void child.kill("SIGTERM");
  return {
    origin: `http://127.0.0.1:${port}`,
    token,
    ended,
    stop,
    [Symbol.asyncDispose]: () => kill(child),
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
