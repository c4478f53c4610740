import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { codexAgent } from "@devtool/codex";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { type Task, TaskState } from "@devtool/schema";
import { createServer, type Observer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { startServing } from "../durability/crash/server-process.ts";
import { freePort } from "../free-port.ts";
import { nodeServer } from "../mcp/servers.ts";
import { receive } from "../push/receiver.ts";
import { treeOf } from "./otlp-spans.ts";
import { startTelemetry } from "./telemetry.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`;
const TRACED_MCP = fileURLToPath(
  new URL("traced-mcp-server.ts", import.meta.url),
);
const OTHER = "1bf7651916cd43dd8448eb211c80319d";

describe("a trace", () => {
  it("reaches an ACP agent with the prompt", async () => {
    await using told = await startTelemetry();
    const command = fakeAgentCommand();
    await using server = await createServer({
      agents: { fake: acpAgent({ name: "fake", command }) },
      workspace: temporaryDirectory(),
      observer: told.observer,
    });
    const { task } = await clientOf(server).tasks.sendMessage(
      { message: textMessage("m", "meta") },
      { headers: { traceparent: TRACEPARENT, tracestate: "vendor=1" } },
    );
    await server.close();
    await told.flush();
    const { spanId } = await told.find("invoke_agent fake");
    expect(JSON.parse(textOf(task))).toEqual({
      traceparent: `00-${TRACE}-${spanId}-01`,
      tracestate: "vendor=1",
    });
  });

  it("reaches Codex with the turn that it starts, and nothing else", async () => {
    await using told = await startTelemetry();
    const home = temporaryDirectory();
    const environment = { CODEX_HOME: home, PATH: process.env.PATH ?? "" };
    const codex = codexAgent({ command: FAKE_APP_SERVER, environment });
    await using server = await createServer({
      agents: { codex },
      workspace: temporaryDirectory(),
      observer: told.observer,
    });
    await clientOf(server).tasks.sendMessage(
      { message: textMessage("m", "say Hi.") },
      { headers: { traceparent: TRACEPARENT, tracestate: "vendor=1" } },
    );
    await server.close();
    await told.flush();
    const { spanId } = await told.find("invoke_agent codex");
    const traceparent = `00-${TRACE}-${spanId}-01`;
    const received = fileText(home, "received.jsonl").trim().split("\n");
    const traced = received
      .map((line) => JSON.parse(line))
      .filter(({ trace }) => trace !== undefined);
    expect(traced).toEqual([
      expect.objectContaining({
        method: "turn/start",
        trace: { traceparent, tracestate: "vendor=1" },
      }),
    ]);
  });

  it.each([
    "Connect",
    "gRPC",
    "A2A 1.0 over HTTP+JSON",
    "A2A 0.3 over JSON-RPC",
  ] as const)(
    "has a slash command and the prompt of an MCP server in it, over %s",
    async (binding) => {
      await using told = await startTelemetry();
      await using server = await serveCodingAgent({
        workspace: temporaryDirectory(),
        mcp: createMcp({ servers: [nodeServer("traced", [TRACED_MCP])] }),
        observer: told.observer,
      });
      const { tasks, commands } = CLIENTS[binding](server);
      const headers = { traceparent: TRACEPARENT, tracestate: "vendor=1" };
      const command = { commandPath: ["traced", "place"], args: "" };
      const { result } = await commands.runSlashCommand(
        { command },
        { headers },
      );
      const taskId = result?.executionId ?? "";
      await expect
        .poll(async () => (await tasks.getTask({ taskId })).task?.state)
        .toBe(TaskState.INPUT_REQUIRED);
      const { task } = await tasks.getTask({ taskId });
      const [call] = task ? pendingToolCalls(task) : [];
      if (!call) throw new Error("no call waits for approval");
      const parts = [confirmationPart(call, "proceed_once")];
      const message = { messageId: "answer", parts };
      await tasks.sendMessage({ message, taskId });
      await server.close();
      await told.flush();
      const asked = told.spans.filter(
        ({ traceId, parentSpanId }) =>
          traceId === TRACE && parentSpanId === CALLER,
      );
      const turn = await told.find(
        "invoke_agent devtool",
        ({ traceId }) => traceId === TRACE,
      );
      expect(asked.map(({ spanId }) => spanId)).toEqual([turn.parentSpanId]);
      expect(turn.links).toEqual([]);
      expect(call.inputParameters?.content).toContain(
        `"traceparent":"00-${TRACE}-${turn.spanId}-01","tracestate":"vendor=1"`,
      );
      const made = await told.find("execute_tool write_file");
      expect(made).toMatchObject({ traceId: TRACE, parentSpanId: turn.spanId });
    },
  );

  it("is ignored where its header is malformed, and goes on where a later version has more", async () => {
    await using told = await startTelemetry();
    await using server = await serveWith(told.observer);
    const { tasks } = clientOf(server);
    for (const traceparent of [...MALFORMED, ...ACCEPTED]) {
      await tasks.listTasks({}, { headers: { traceparent } });
    }
    await server.close();
    await told.flush();
    const requests = told.spans.filter(({ name }) => name === "ListTasks");
    expect(
      requests.map(({ parentSpanId, links }) => [parentSpanId, links]),
    ).toEqual([
      ...MALFORMED.map(() => ["", []]),
      ...ACCEPTED.map(() => [CALLER, []]),
    ]);
  });

  it("of a caller without credentials is linked, and decides nothing", async () => {
    await using told = await startTelemetry();
    await using server = await createServer({
      agents: {
        open: {
          about: { name: "open", description: "Says hello." },
          servesAnonymous: true,
          open: () => ({
            createExecutor: () => ({
              async *execute() {
                yield { case: "text", value: "Hello." } as const;
              },
            }),
          }),
        },
      },
      anonymous: "admit",
      workspace: temporaryDirectory(),
      observer: told.observer,
    });
    await clientOf({ url: server.url, token: "" }).tasks.sendMessage(
      { message: textMessage("m", "Hi.") },
      { headers: { traceparent: TRACEPARENT.replace(/01$/, "00") } },
    );
    await server.close();
    await told.flush();
    const request = await told.find("SendMessage");
    expect(request).toMatchObject({ parentSpanId: "", links: [CALLER] });
    expect(request.traceId).not.toBe(TRACE);
    const turn = await told.find("invoke_agent open");
    expect(turn.parentSpanId).toBe(request.spanId);
  });
});

describe("a turn", () => {
  it("goes on after kill -9, linked to what was asked before", async () => {
    await using told = await startTelemetry();
    const data = join(temporaryDirectory(), "data");
    const flags = ["--data", data, "--workspace", temporaryDirectory()];
    const environment = {
      ...process.env,
      OTEL_EXPORTER_OTLP_ENDPOINT: told.url,
    };
    let server = await startServing(flags, environment);
    const { task } = await clientOf(server.info).tasks.sendMessage(
      { message: textMessage("m", "write a.txt x\nnext\ntext Done.") },
      { headers: { traceparent: TRACEPARENT } },
    );
    // The spans of the first server are there before it dies.
    const asked = await told.find("SendMessage");
    await server.kill();

    server = await startServing(flags, environment);
    const [call] = task ? pendingToolCalls(task) : [];
    if (!task || !call) throw new Error("no call waits for approval");
    await clientOf(server.info).tasks.sendMessage(
      {
        message: {
          messageId: "answer",
          parts: [confirmationPart(call, "proceed_once")],
        },
        taskId: task.id,
      },
      { headers: { traceparent: `00-${OTHER}-${CALLER}-01` } },
    );
    await server.stop();
    const resumed = await told.find(
      "invoke_agent devtool",
      ({ traceId }) => traceId === OTHER,
    );
    expect(resumed.links).toEqual([asked.spanId]);
    expect(resumed.attributes["devtool.task.id"]).toBe(task.id);
    const answered = await told.find(
      "SendMessage",
      ({ traceId }) => traceId === OTHER,
    );
    expect(answered.parentSpanId).toBe(CALLER);
    const spans = told.spans.filter(({ traceId }) => traceId === OTHER);
    expect(treeOf(spans, answered)).toEqual({
      "invoke_agent devtool": {
        "execute_tool write_file": {},
        "chat scripted": {},
      },
    });
  });

  it("is unharmed while the collector is away", async () => {
    const url = `http://127.0.0.1:${await freePort()}/v1/traces`;
    const notices = await turnsWithout(url, 3);
    expect(notices).toEqual([
      expect.stringMatching(
        `^telemetry: cannot send spans to ${url}: connect ECONNREFUSED`,
      ),
    ]);
  });

  it("is unharmed by a collector that refuses each batch, which is said once", async () => {
    await using refusing = await receive();
    refusing.answerWith((response) => response.writeHead(400).end());
    // A batch has 512 spans, and a turn three.
    const notices = await turnsWithout(refusing.url, 400);
    expect(refusing.received.length).toBeGreaterThan(1);
    expect(notices).toEqual([
      `telemetry: cannot send spans to ${refusing.url}: Bad Request`,
      expect.stringMatching(/: \d+ requests failed, \d{3,4} spans are lost$/),
    ]);
  });
});

/** Plays turns of which no span is taken. Returns what the operator is told. */
async function turnsWithout(url: string, turns: number) {
  await using told = await startTelemetry({ url });
  await using server = await serveWith(told.observer);
  const { tasks } = clientOf(server);
  for (let turn = 0; turn < turns; turn++) {
    const message = textMessage(`m${turn}`, "text Done.");
    const { task } = await tasks.sendMessage({ message });
    expect(task?.state).toBe(TaskState.COMPLETED);
  }
  await expect.poll(() => told.notices.length, { timeout: 120_000 }).toBe(1);
  await server.close();
  await told.flush();
  return told.notices;
}

/** What W3C Trace Context, section 3.2.2, says to ignore. */
const MALFORMED: readonly string[] = [
  "x",
  `ff-${TRACE}-${CALLER}-01`,
  `0-${TRACE}-${CALLER}-01`,
  `00-${TRACE.toUpperCase()}-${CALLER}-01`,
  `00-${"0".repeat(32)}-${CALLER}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.slice(1)}-${CALLER}-01`,
  `00-${TRACE}-${CALLER}g-01`,
  `00-${TRACE}-${CALLER}-1`,
  `00-${TRACE}-${CALLER}-0x`,
  `00-${TRACE}-${CALLER}-01-what`,
  `01-${TRACE}-${CALLER}-01what`,
  `${TRACEPARENT}, ${TRACEPARENT}`,
];

const ACCEPTED: readonly string[] = [
  TRACEPARENT,
  `01-${TRACE}-${CALLER}-01`,
  `cc-${TRACE}-${CALLER}-01-what`,
];

function serveWith(observer: Observer | undefined) {
  return serveCodingAgent({ workspace: temporaryDirectory(), observer });
}

function textOf(task: Task | undefined): string {
  const parts = task?.history.at(-1)?.parts ?? [];
  return parts
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
}
