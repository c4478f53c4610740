import { renameSync, symlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  create,
  type JsonObject,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { confirmationPart, textMessage } from "@devtool/client";
import { codexQueues } from "@devtool/codex/queues";
import { objectOrEmpty } from "@devtool/internal/json";
import { fileText } from "@devtool/internal/testing/files";
import {
  ApprovalMode,
  ApprovalPolicy,
  awaitedToolCalls,
  OPTION_PROCEED_ONCE,
  SandboxPolicy,
  type SendMessageRequestSchema,
  type Task,
} from "@devtool/schema";
import { ReviewDecision, SessionService } from "@devtool/schema/codex";
import { TurnSettingsSchema } from "@devtool/schema/testing";
import {
  type Agent,
  createServer,
  type DevtoolServer,
  defaultDialects,
  type ServerOptions,
} from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { ClientStream, type Op } from "./sq-eq/client-stream.ts";
import {
  approval,
  callOf,
  errorOf,
  input,
  sessionOf,
  wordsIn,
} from "./sq-eq/events.ts";
import { World } from "./sq-eq/world.ts";

const WRITE = {
  type: "workspaceWrite",
  writableRoots: [],
  networkAccess: true,
};
const READ = { type: "readOnly", networkAccess: false };

/** A policy of a later version. */
const UNKNOWN_POLICY: number = 9;

let world: World;
let server: DevtoolServer;
let inside: string;

beforeEach(async () => {
  world = new World();
  inside = join(world.workspace, "packages");
  await mkdir(inside);
  server = await start();
});

afterEach(() => server.close());

describe("a turn with settings of its own", () => {
  it("has its directory, its policies and its model, and the next turn has those of the session", async () => {
    const stream = await open();
    const settings = {
      approvalPolicy: ApprovalPolicy.NEVER,
      sandboxPolicy: SandboxPolicy.READ_ONLY,
    };
    stream.submit(
      "i1",
      turn("say One.", { cwd: inside, ...settings, model: "gpt-small" }),
    );
    await stream.until("turnComplete");
    stream.submit("i2", input("say Two."));
    stream.end();
    expect(wordsIn(await stream.rest())).toBe("Two.");
    expect(turnsStarted()).toEqual([
      {
        cwd: inside,
        approvalPolicy: "never",
        sandboxPolicy: READ,
        model: "gpt-small",
      },
      {
        cwd: world.workspace,
        approvalPolicy: "untrusted",
        sandboxPolicy: WRITE,
        model: "gpt-own",
      },
    ]);
  });

  it("has those of the session where its own are wider", async () => {
    const stream = await open();
    const settings = {
      approvalPolicy: ApprovalPolicy.NEVER,
      sandboxPolicy: SandboxPolicy.WORKSPACE_WRITE,
    };
    stream.submit("i1", turn("say One.", settings));
    stream.end();
    await stream.rest();
    expect(turnsStarted()).toEqual([
      {
        cwd: world.workspace,
        approvalPolicy: "untrusted",
        sandboxPolicy: WRITE,
        model: "gpt-own",
      },
    ]);
  });

  it("waits while another one runs; input waits while it runs, and begins one with the session's settings", async () => {
    const stream = await open();
    stream.submit("i1", input("ask touch x\nsay One."));
    const first = callOf(await stream.until("execApprovalRequest"));
    stream.submit(
      "i2",
      turn("ask touch y\nsay Two.", { sandboxPolicy: SandboxPolicy.READ_ONLY }),
    );
    stream.submit(
      "i3",
      approval("execApproval", first, ReviewDecision.APPROVED),
    );
    const second = callOf(await stream.until("execApprovalRequest"));
    stream.submit("i4", input("say Three."));
    stream.submit(
      "i5",
      approval("execApproval", second, ReviewDecision.APPROVED),
    );
    stream.end();
    expect(wordsIn(await stream.rest())).toBe("Two.Three.");
    expect(received().some(({ method }) => method === "turn/steer")).toBe(
      false,
    );
    expect(turnsStarted().map(({ sandboxPolicy }) => sandboxPolicy)).toEqual([
      WRITE,
      READ,
      WRITE,
    ]);
  });

  it("keeps them when the server is restarted while it asks", async () => {
    await server.close();
    const dataDirectory = join(world.directory, "data");
    server = await start({ dataDirectory });
    const stream = await open();
    stream.submit(
      "i1",
      turn("ask touch x", {
        cwd: inside,
        sandboxPolicy: SandboxPolicy.READ_ONLY,
      }),
    );
    const sessionId = sessionOf(await stream.until("sessionConfigured"));
    const callId = callOf(await stream.until("execApprovalRequest"));
    await server.close();
    await stream.rest().catch(() => undefined);
    server = await start({ dataDirectory });
    const again = await open(sessionId);
    again.submit(
      "i2",
      approval("execApproval", callId, ReviewDecision.APPROVED),
    );
    await again.until("turnComplete");
    expect(
      turnsStarted().map(({ cwd, sandboxPolicy }) => [cwd, sandboxPolicy]),
    ).toEqual([
      [inside, READ],
      [inside, READ],
    ]);
  });

  it("fails, and Codex is told nothing, when a link has taken the place of its directory while it waited", async () => {
    const stream = await open();
    stream.submit("i1", input("ask touch x"));
    const callId = callOf(await stream.until("execApprovalRequest"));
    stream.submit("i2", turn("say Hi.", { cwd: inside }));
    // A submission that fails is answered after those before it.
    stream.submit("i3", { case: undefined });
    await stream.until("error");
    renameSync(inside, `${inside}-before`);
    symlinkSync("/etc", inside);
    stream.submit(
      "i4",
      approval("execApproval", callId, ReviewDecision.APPROVED),
    );
    const failed = await stream.until("turnFailed");
    expect(failed.id).toBe("i2");
    expect(failed.msg.value).toMatchObject({
      message: expect.stringContaining("is outside of the session's workspace"),
    });
    expect(turnsStarted()).toHaveLength(1);
    stream.end();
    await stream.rest();
  });

  it("is carried out once when it is sent again", async () => {
    for (let round = 0; round < 2; round++) {
      const stream = await open();
      stream.submit("i1", turn("say Once.", { cwd: inside }));
      stream.end();
      expect(wordsIn(await stream.rest())).toBe("Once.");
    }
    expect(turnsStarted()).toHaveLength(1);
  });

  it("tells the permission policy the mode that it is narrowed to", async () => {
    await server.close();
    const modes: ApprovalMode[] = [];
    const permission = ({ approvalMode }: { approvalMode: ApprovalMode }) => {
      modes.push(approvalMode);
      return { case: "allow", rule: "test" } as const;
    };
    const codex = world.codex({
      approvalMode: ApprovalMode.AUTO_EDIT,
      permission,
    });
    server = await start({ agents: { codex } });
    const stream = await open();
    stream.submit(
      "i1",
      turn("ask touch x", { approvalPolicy: ApprovalPolicy.UNTRUSTED }),
    );
    await stream.until("turnComplete");
    stream.submit("i2", input("ask touch y"));
    await stream.until("turnComplete");
    expect(modes).toEqual([ApprovalMode.DEFAULT, ApprovalMode.AUTO_EDIT]);
  });

  it.each([
    [
      "a directory outside",
      () => "/etc",
      'user_turn.cwd "/etc" is outside of the session\'s workspace',
    ],
    [
      "a way out",
      () => `${inside}/../..`,
      "is outside of the session's workspace",
    ],
    [
      "a link that leads out",
      () => linkTo("/etc"),
      "is outside of the session's workspace",
    ],
    [
      "a relative path",
      () => "packages",
      'user_turn.cwd "packages" must be an absolute path',
    ],
    [
      "a file",
      () => join(world.workspace, "a.txt"),
      "must be a directory that exists",
    ],
    ["nothing", () => join(inside, "none"), "must be a directory that exists"],
  ])("is refused in %s, and nothing begins", async (_what, cwd, message) => {
    const stream = await open();
    stream.submit("i1", turn("say Hi.", { cwd: cwd() }));
    const failed = await stream.until("error");
    expect(errorOf(failed)).toEqual([
      "i1",
      "invalid_argument",
      "user_turn.cwd",
      expect.stringContaining(message),
    ]);
    stream.submit("i2", { case: "interrupt", value: {} });
    expect(errorOf(await stream.until("error")).slice(0, 2)).toEqual([
      "i2",
      "failed_precondition",
    ]);
    stream.end();
    await stream.rest();
  });

  it("is refused with a policy that this server does not know, and without items", async () => {
    const stream = await open();
    stream.submit("i1", turn("say Hi.", { sandboxPolicy: UNKNOWN_POLICY }));
    stream.submit("i2", { case: "userTurn", value: {} });
    expect(
      (await stream.take(2)).map((event) => errorOf(event).slice(0, 3)),
    ).toEqual([
      ["i1", "invalid_argument", "user_turn.sandbox_policy"],
      ["i2", "invalid_argument", "user_turn.items"],
    ]);
    stream.end();
    await stream.rest();
  });
});

describe("the settings of a turn, over the other protocols", () => {
  it("come with a message, also to a session that exists", async () => {
    const first = await send({
      message: textMessage("m1", "say Hi."),
      messageSettings: { turn: { workingDirectory: inside } },
    });
    const taskId = first?.id ?? "";
    const turnSettings = {
      approvalPolicy: ApprovalPolicy.NEVER,
      sandboxPolicy: SandboxPolicy.READ_ONLY,
    };
    await send({
      message: textMessage("m2", "say Hi."),
      taskId,
      messageSettings: { turn: turnSettings },
    });
    expect(
      turnsStarted().map(({ cwd, sandboxPolicy }) => [cwd, sandboxPolicy]),
    ).toEqual([
      [inside, WRITE],
      [world.workspace, READ],
    ]);
  });

  it("come in the metadata of a message of A2A", async () => {
    const metadata = {
      "https://devtool.dev/a2a/message-settings/v1alpha": {
        turn: {
          workingDirectory: inside,
          sandboxPolicy: "SANDBOX_POLICY_READ_ONLY",
        },
      },
    };
    const parts = [{ kind: "text", text: "say Hi." }];
    const message = {
      kind: "message",
      messageId: "m1",
      role: "user",
      parts,
      metadata,
    };
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message },
    });
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${server.token}`,
    };
    const answer = await fetch(server.url, { method: "POST", headers, body });
    expect(await answer.json()).toMatchObject({
      result: { status: { state: "completed" } },
    });
    expect(
      turnsStarted().map(({ cwd, sandboxPolicy }) => [cwd, sandboxPolicy]),
    ).toEqual([[inside, READ]]);
  });

  it("cannot come with an answer, nor in the message itself, where only the server puts them", async () => {
    const asking = await send({ message: textMessage("m1", "ask touch x") });
    const [call] = asking ? awaitedToolCalls(asking) : [];
    const parts = call ? [confirmationPart(call, OPTION_PROCEED_ONCE)] : [];
    const turnSettings = create(TurnSettingsSchema, {
      workingDirectory: inside,
    });
    const answer = {
      message: { messageId: "m2", parts },
      taskId: asking?.id ?? "",
      messageSettings: { turn: turnSettings },
    };
    expect(await refusalOf(answer)).toMatch(
      /^message_settings\.turn cannot come with an answer/,
    );
    const inMessage = {
      message: { ...textMessage("m3", "say Hi."), turnSettings },
    };
    expect(await refusalOf(inMessage)).toMatch(
      /^message\.turn_settings is the server's/,
    );
  });

  it("are refused by an agent that cannot follow them, and nothing is stored", async () => {
    await server.close();
    const echo: Agent = {
      about: { name: "Echo", description: "Echoes." },
      open: () => ({
        createExecutor: () => ({
          async *execute(started) {
            yield* started.say("Hi.");
          },
        }),
      }),
    };
    server = await start({ agents: { echo } });
    const message = textMessage("m1", "Hi.");
    expect(await refusalOf({ message, messageSettings: { turn: {} } })).toMatch(
      /^message_settings\.turn cannot be used: agent "echo"/,
    );
    const { tasks } = await client().listTasks({});
    expect(tasks).toEqual([]);
  });
});

type SendRequest = MessageInitShape<typeof SendMessageRequestSchema>;

function client() {
  return clientOf(server, "2").tasks;
}

async function send(request: SendRequest): Promise<Task | undefined> {
  const { task } = await client().sendMessage(request);
  return task;
}

async function refusalOf(request: SendRequest): Promise<string> {
  const reason = await client().sendMessage(request).catch(ConnectError.from);
  expect(reason).toMatchObject({ code: Code.InvalidArgument });
  return reason instanceof ConnectError ? reason.rawMessage : "";
}

async function start(
  options: Partial<ServerOptions> = {},
): Promise<DevtoolServer> {
  return createServer({
    agents: { codex: world.codex() },
    dialects: [codexQueues(), ...defaultDialects()],
    workspace: world.workspace,
    ...options,
  });
}

async function open(sessionId = ""): Promise<ClientStream> {
  const sessions = createClient(SessionService, await server.transport());
  const stream = new ClientStream((submissions) =>
    sessions.openSession(submissions),
  );
  stream.submit("configure", {
    case: "configureSession",
    value: { sessionId },
  });
  return stream;
}

interface TurnInit {
  readonly cwd?: string;
  readonly approvalPolicy?: ApprovalPolicy;
  readonly sandboxPolicy?: SandboxPolicy;
  readonly model?: string;
}

function turn(text: string, settings: TurnInit = {}): Op {
  return {
    case: "userTurn",
    value: { ...settings, items: [{ content: { case: "text", value: text } }] },
  };
}

function linkTo(target: string): string {
  const link = join(world.workspace, "link");
  symlinkSync(target, link);
  return link;
}

/** What the fake app-server was sent. */
function received(): JsonObject[] {
  const lines = fileText(world.home, "received.jsonl").trim().split("\n");
  return lines.map((line) => objectOrEmpty(JSON.parse(line)));
}

/** The settings of the turns that Codex began. */
function turnsStarted(): JsonObject[] {
  return received()
    .filter(({ method }) => method === "turn/start")
    .map(({ params }) => {
      const {
        threadId: _thread,
        input: _input,
        approvalsReviewer: _user,
        ...settings
      } = objectOrEmpty(params);
      return settings;
    });
}
