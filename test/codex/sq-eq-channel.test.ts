import { createServer as createHttpServer } from "node:http";
import {
  Code,
  ConnectError,
  createClient,
  type Transport,
} from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { bearerInterceptor } from "@devtool/client";
import { codexQueues } from "@devtool/codex/queues";
import { AuditService, TaskService } from "@devtool/schema";
import { ReviewDecision, SessionService } from "@devtool/schema/codex";
import {
  createHandler,
  createServer,
  type DevtoolServer,
  defaultDialects,
} from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { transportOf } from "../client-of.ts";
import { ClientStream } from "./sq-eq/client-stream.ts";
import { approval, callOf, input, sessionOf, wordsIn } from "./sq-eq/events.ts";
import { World } from "./sq-eq/world.ts";

let world: World;
let server: DevtoolServer;

beforeEach(async () => {
  world = new World();
  server = await createServer({
    agents: { codex: world.codex() },
    dialects: [codexQueues(), ...defaultDialects()],
    workspace: world.workspace,
  });
});

afterEach(() => server.close());

describe("a session within the process of its server", () => {
  it("asks, is answered, and is the operator's task for every client", async () => {
    const stream = open(await server.transport());
    stream.submit("i1", input("ask touch x\nsay Done."));
    const sessionId = sessionOf(await stream.until("sessionConfigured"));
    const asked = await stream.until("execApprovalRequest");
    stream.submit(
      "i2",
      approval("execApproval", callOf(asked), ReviewDecision.APPROVED),
    );
    stream.end();
    expect(wordsIn(await stream.rest())).toBe("Done.");
    const { task } = await createClient(
      TaskService,
      transportOf(server, "2"),
    ).getTask({
      taskId: sessionId,
    });
    const here = createClient(TaskService, await server.transport());
    expect((await here.getTask({ taskId: sessionId })).task).toEqual(task);
  });

  it("has the operator's rights", async () => {
    const audit = createClient(AuditService, await server.transport());
    for await (const { record } of audit.readAudit({})) {
      expect(record).toBeUndefined();
    }
  });

  it("answers what fails as over the network", async () => {
    const failures = [await server.transport(), transportOf(server, "2")].map(
      async (transport) => {
        const reason = await createClient(TaskService, transport)
          .getTask({ taskId: "none" })
          .catch(ConnectError.from);
        return (
          reason instanceof ConnectError && [
            reason.code,
            reason.rawMessage,
            reason.details.length,
          ]
        );
      },
    );
    const [here, there] = await Promise.all(failures);
    expect(here).toEqual(there);
    expect(here).toContain(Code.NotFound);
  });

  it("ends with its server, as a stream that is resumed", async () => {
    const stream = open(await server.transport());
    stream.submit("i1", input("say Working.\nhang"));
    await stream.until("agentMessageDelta");
    const rest = stream.rest().catch(ConnectError.from);
    await server.close();
    expect(await rest).toMatchObject({ code: Code.Unavailable });
  });

  it("is there for a server that is mounted in an application", async () => {
    const publicUrl = "http://127.0.0.1:1/devtool";
    const agents = { codex: world.codex() };
    await using handler = await createHandler({
      agents,
      dialects: [codexQueues(), ...defaultDialects()],
      workspace: world.workspace,
      publicUrl,
    });
    const stream = open(await handler.transport());
    stream.submit("i1", input("say Hi."));
    stream.end();
    expect(wordsIn(await stream.rest())).toBe("Hi.");
  });
});

describe("a session over HTTP/1.1", () => {
  const transports: readonly (readonly [name: string, () => Transport])[] = [
    ["Connect", () => transportOf(server, "1.1")],
    [
      "gRPC-Web",
      () => createGrpcWebTransport({ ...options(), httpVersion: "1.1" }),
    ],
  ];

  it.each(transports)(
    "is refused over %s with what to do, and nothing hangs",
    async (_name, transport) => {
      const stream = open(transport());
      stream.submit("i1", input("say Hi."));
      const reason = await stream.rest().catch(ConnectError.from);
      expect(reason).toMatchObject({
        code: Code.FailedPrecondition,
        rawMessage: expect.stringMatching(
          /^OpenSession needs HTTP\/2, and this request came over HTTP\/1\.1: /,
        ),
      });
    },
  );

  it("is refused in a mounted server, too, whose other calls work", async () => {
    const front = createHttpServer();
    front.listen(0, "127.0.0.1");
    await new Promise((resolve) => front.once("listening", resolve));
    const address = front.address();
    const publicUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/devtool`;
    await using handler = await createHandler({
      agents: { codex: world.codex() },
      dialects: [codexQueues(), ...defaultDialects()],
      workspace: world.workspace,
      publicUrl,
    });
    front.on("request", handler.listener);
    const transport = transportOf({ url: publicUrl, token: handler.token });
    const stream = open(transport);
    expect(await stream.rest().catch(ConnectError.from)).toMatchObject({
      code: Code.FailedPrecondition,
    });
    expect(
      (await createClient(TaskService, transport).listTasks({})).tasks,
    ).toEqual([]);
    front.closeAllConnections();
    front.close();
  });
});

function open(transport: Transport): ClientStream {
  const stream = new ClientStream((submissions) =>
    createClient(SessionService, transport).openSession(submissions),
  );
  stream.submit("configure", { case: "configureSession", value: {} });
  return stream;
}

function options() {
  return {
    baseUrl: server.url,
    interceptors: [bearerInterceptor(server.token)],
  };
}
