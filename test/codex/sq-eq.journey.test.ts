import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
  Code,
  ConnectError,
  createClient,
  type Transport,
} from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
} from "@connectrpc/connect-node";
import { bearerInterceptor } from "@devtool/client";
import { codexAgent } from "@devtool/codex";
import { codexQueues } from "@devtool/codex/queues";
import { FAKE_APP_SERVER } from "@devtool/codex/testing";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskService } from "@devtool/schema";
import {
  ReviewDecision,
  type SessionEvent,
  SessionService,
} from "@devtool/schema/codex";
import {
  createServer,
  type DevtoolServer,
  defaultDialects,
  type ServerOptions,
} from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { ClientStream, type Op } from "./sq-eq/client-stream.ts";
import {
  approval,
  callOf,
  errorOf,
  input,
  sessionOf,
  wordsIn,
} from "./sq-eq/events.ts";

describe("a session in the shape of Codex's queues", () => {
  let directory: string;
  let workspace: string;
  let home: string;
  let server: DevtoolServer;

  beforeEach(async () => {
    directory = temporaryDirectory();
    workspace = join(directory, "workspace");
    home = join(directory, "home");
    await mkdir(home);
    putFile(workspace, "a.txt", "one\ntwo\n");
    await start();
  });

  afterEach(() => server.close());

  it.each(["connect", "grpc"] as const)(
    "streams what the agent does, over %s, and ends when it rests",
    async (wire) => {
      const stream = open({}, { wire });
      stream.submit(
        "i1",
        input("think **Plan** Look.\nrun ls\nusage\nsay Hello there."),
      );
      stream.end();
      const events = await stream.rest();
      expect(events.map(({ msg }) => msg.case)).toEqual([
        "sessionConfigured",
        "turnStarted",
        "agentReasoning",
        "toolCallBegin",
        "toolCallOutput",
        "toolCallEnd",
        "tokenCount",
        ...deltas(2),
        "turnComplete",
      ]);
      expect(events[0]?.msg.value).toMatchObject({
        cwd: workspace,
        sessionId: expect.stringMatching(/./),
      });
      expect(
        events.slice(1).every(({ id, seq }) => id === "i1" && seq !== ""),
      ).toBe(true);
      expect(events[3]?.msg.value).toMatchObject({
        toolName: "shell",
        arguments: { command: "ls", cwd: workspace },
      });
      expect(wordsIn(events)).toBe("Hello there.");
    },
  );

  it("asks whether a command may run, takes the decision, and asks whether a file may change", async () => {
    const stream = open();
    stream.submit("i1", input("ask touch x\npatch\nsay Done."));
    const asked = await stream.until("execApprovalRequest");
    expect(asked.msg.value).toMatchObject({
      command: "touch x",
      cwd: workspace,
      availableDecisions: [
        ReviewDecision.APPROVED,
        ReviewDecision.APPROVED_FOR_SESSION,
        ReviewDecision.DENIED,
        ReviewDecision.ABORT,
      ],
    });
    expect(optionsOf(asked)).toEqual([
      "Allow once, in or outside of Codex's sandbox",
      "Always allow in this session, in or outside of Codex's sandbox: the same command in the same directory",
      "Decline: Codex goes on without it.",
      "Cancel: Codex stops and waits for your next message.",
    ]);
    stream.submit(
      "i2",
      approval("execApproval", callOf(asked), ReviewDecision.APPROVED),
    );
    const changed = await stream.until("applyPatchApprovalRequest");
    expect(changed.msg.value).toMatchObject({
      change: { oldContent: "one\ntwo\n", newContent: "one\nTWO\n" },
    });
    stream.submit(
      "i3",
      approval("patchApproval", callOf(changed), ReviewDecision.DENIED),
    );
    stream.end();
    const events = await stream.rest();
    expect(wordsIn(events)).toBe("Done.");
    expect(events.at(-1)).toMatchObject({
      id: "i3",
      msg: { case: "turnComplete" },
    });
    expect(fileText(home, "ran.txt")).toBe("touch x\n");
  });

  it("asks a question in words, and gives the agent the answer", async () => {
    const stream = open();
    stream.submit("i1", input("elicit"));
    const asked = await stream.until("requestUserInput");
    expect(asked.msg.value).toMatchObject({
      question: expect.stringContaining("Name?"),
    });
    const value = {
      callId: callOf(asked),
      optionId: "proceed_once",
      text: '{"name":"Ada"}',
    };
    stream.submit("i2", { case: "userInputAnswer", value });
    stream.end();
    expect(wordsIn(await stream.rest())).toContain("Ada");
  });

  it("gives the agent an image", async () => {
    const image = { mediaType: "image/png", data: Buffer.from("pixels") };
    const stream = open();
    const items = [
      { content: { case: "image" as const, value: image } },
      { content: { case: "text" as const, value: "say Seen." } },
    ];
    stream.submit("i1", { case: "userInput", value: { items } });
    const sessionId = sessionOf(await stream.until("sessionConfigured"));
    stream.end();
    expect(wordsIn(await stream.rest())).toBe("Seen.");
    const { task } = await createClient(TaskService, transportOf()).getTask({
      taskId: sessionId,
    });
    expect(task?.history[0]?.parts[0]?.content).toMatchObject({
      value: {
        mediaType: "image/png",
        source: { value: new Uint8Array(image.data) },
      },
    });
  });

  it("shows what another client caused after the turn with the next input", async () => {
    const stream = open();
    stream.submit("i1", input("say Mine."));
    const sessionId = sessionOf(await stream.until("sessionConfigured"));
    await stream.until("turnComplete");
    const other = open({ sessionId });
    other.submit("o1", input("say Theirs."));
    other.end();
    await other.rest();
    stream.submit("i2", input("say Mine again."));
    stream.end();
    expect(wordsIn(await stream.rest())).toBe("Theirs.Mine again.");
  });

  it("stops a turn, and goes on in the same session with the next input", async () => {
    const stream = open();
    stream.submit("i1", input("say Working.\nhang"));
    const sessionId = sessionOf(await stream.until("sessionConfigured"));
    await stream.until("agentMessageDelta");
    stream.submit("i2", { case: "interrupt", value: {} });
    expect((await stream.until("turnAborted")).id).toBe("i1");
    stream.submit("i3", input("say Again."));
    await stream.until("turnComplete");
    stream.submit("i4", { case: "shutdown", value: {} });
    expect((await stream.rest()).map(({ id, msg }) => [id, msg.case])).toEqual([
      ["i4", "shutdownComplete"],
    ]);
    const again = open({ sessionId });
    again.end();
    expect(wordsIn(await again.rest())).toBe("Working.Again.");
  });

  it("resumes behind each event with exactly those that the first stream showed", async () => {
    const stream = open();
    stream.submit("i1", input("run ls\nfail make\nusage\nsay Hello there."));
    stream.end();
    const [configured, ...events] = await stream.rest();
    const sessionId = sessionOf(configured);
    expect(new Set(events.map(({ seq }) => seq)).size).toBe(events.length);
    for (const [at, { seq }] of events.entries()) {
      const again = open({ sessionId, resumeAfter: seq });
      again.end();
      const [first, ...others] = await again.rest();
      expect(first?.msg.case).toBe("sessionConfigured");
      expect(others).toEqual(events.slice(at + 1));
    }
  });

  it("carries out a submission once that is sent again in another stream", async () => {
    const sessions: string[] = [];
    for (let round = 0; round < 2; round++) {
      const stream = open();
      stream.submit("i1", input("say Once."));
      stream.end();
      const events = await stream.rest();
      sessions.push(sessionOf(events[0]));
      expect(wordsIn(events)).toBe("Once.");
    }
    expect(sessions[1]).toBe(sessions[0]);
  });

  it("answers a submission that fails in its own words, changes nothing and goes on", async () => {
    const stream = open();
    stream.submit("i0", { case: "interrupt", value: {} });
    stream.submit("", input("say No."));
    stream.submit("i2", { case: undefined });
    stream.submit("i3", { case: "userInput", value: { items: [] } });
    stream.submit("i4", { case: "configureSession", value: {} });
    const early = await stream.take(5);
    expect(early.map(errorOf)).toEqual([
      [
        "i0",
        "failed_precondition",
        "",
        "the session has not begun: send user_input first",
      ],
      [
        "",
        "invalid_argument",
        "id",
        "id is missing: choose an id that is new for each submission",
      ],
      [
        "i2",
        "invalid_argument",
        "op",
        "op is missing, or unknown to this server",
      ],
      [
        "i3",
        "invalid_argument",
        "user_input.items",
        expect.stringMatching(/^user_input\.items is empty/),
      ],
      [
        "i4",
        "invalid_argument",
        "op",
        expect.stringContaining("must be the first submission of its stream"),
      ],
    ]);
    stream.submit("i5", input("ask touch x"));
    const callId = callOf(await stream.until("execApprovalRequest"));
    stream.submit(
      "i6",
      approval("patchApproval", callId, ReviewDecision.APPROVED),
    );
    stream.submit(
      "i7",
      approval("execApproval", "none", ReviewDecision.APPROVED),
    );
    stream.submit(
      "i8",
      approval("execApproval", callId, ReviewDecision.UNSPECIFIED),
    );
    stream.submit("i5", input("say Another."));
    expect((await stream.take(4)).map(errorOf)).toEqual([
      [
        "i6",
        "failed_precondition",
        "patch_approval.call_id",
        expect.stringContaining("exec_approval"),
      ],
      [
        "i7",
        "invalid_argument",
        "exec_approval.call_id",
        expect.stringContaining('exec_approval.call_id "none"'),
      ],
      [
        "i8",
        "invalid_argument",
        "exec_approval.decision",
        expect.stringContaining("exec_approval.decision"),
      ],
      [
        "i5",
        "already_exists",
        "id",
        expect.stringMatching(/^id "i5" was used for another message/),
      ],
    ]);
    stream.submit("i9", approval("execApproval", callId, ReviewDecision.ABORT));
    await stream.until("turnComplete");
    stream.end();
    await stream.rest();
  });

  it("refuses input beyond what a task queues, and no other session notices", async () => {
    const stream = open();
    stream.submit("i1", input("say Working.\nhang"));
    await stream.until("agentMessageDelta");
    for (let count = 0; count < 200; count++) {
      stream.submit(`flood-${count}`, input("say x"));
    }
    const error = await stream.until("error");
    expect(errorOf(error)).toEqual([
      // Some steer the turn before it hangs.
      expect.stringMatching(/^flood-\d+$/),
      "resource_exhausted",
      "configure_session.session_id",
      expect.any(String),
    ]);
    const other = open();
    other.submit("other", input("say Fine."));
    other.end();
    expect(wordsIn(await other.rest())).toBe("Fine.");
    const third = open();
    stream.submit("stop", { case: "shutdown", value: {} });
    await stream.until("shutdownComplete");
    third.end();
    await third.rest();
  });

  it.each([
    [
      "another submission first",
      { op: input("say Hi.") },
      Code.InvalidArgument,
      /^op "user_input" must be configure_session/,
    ],
    [
      "an unknown session",
      { sessionId: "none" },
      Code.NotFound,
      /"none" does not exist/,
    ],
    [
      "settings for a known session",
      { sessionId: "x", cwd: "/" },
      Code.InvalidArgument,
      /^configure_session\.cwd "\/" must be empty/,
    ],
    [
      "a place in the wrong form",
      { sessionId: "x", resumeAfter: "1" },
      Code.InvalidArgument,
      /^configure_session\.resume_after "1"/,
    ],
    [
      "a place without a session",
      { resumeAfter: "1.0" },
      Code.InvalidArgument,
      /needs session_id/,
    ],
  ])(
    "fails the stream for %s",
    async (_what, {
      op,
      ...settings
    }: Configuration & { op?: Op }, code, message) => {
      const stream = connect();
      stream.submit("i0", op ?? { case: "configureSession", value: settings });
      const reason = await stream.rest().catch(ConnectError.from);
      expect(reason).toMatchObject({
        code,
        rawMessage: expect.stringMatching(message),
      });
    },
  );

  it("fails a stream that resumes behind the end of its session, and one too many", async () => {
    const first = open();
    first.submit("i1", input("say Hi."));
    const sessionId = sessionOf(await first.until("sessionConfigured"));
    const late = await open({ sessionId, resumeAfter: "999.0" })
      .rest()
      .catch(ConnectError.from);
    expect(late).toMatchObject({ code: Code.OutOfRange });
    const second = open({ sessionId });
    await second.until("turnStarted");
    const third = await open({ sessionId }).rest().catch(ConnectError.from);
    expect(third).toMatchObject({ code: Code.ResourceExhausted });
    for (const stream of [first, second]) stream.end();
    await Promise.all([first.rest(), second.rest()]);
  });

  it("counts a stream whose session has not begun, too", async () => {
    const streams = [open(), open()];
    for (const stream of streams) {
      stream.submit("i0", { case: "interrupt", value: {} });
      await stream.until("error");
    }
    const third = open();
    third.end();
    expect(await third.rest().catch(ConnectError.from)).toMatchObject({
      code: Code.ResourceExhausted,
    });
    for (const stream of streams) stream.end();
    await Promise.all(streams.map((stream) => stream.rest()));
  });

  it("hides a session from other callers", async () => {
    const issuer = await createIssuer();
    await server.close();
    await start({ authentication: { jwt: issuer.options } });
    const [alice, bob] = await Promise.all(
      ["alice", "bob"].map((name) => issuer.tokenFor(name)),
    );
    const hers = open({}, { token: alice });
    hers.submit("i1", input("say Hi."));
    const sessionId = sessionOf(await hers.until("sessionConfigured"));
    hers.end();
    await hers.rest();
    const seen = await Promise.all(
      [sessionId, "none"].map(async (id) => {
        const { code, rawMessage } = ConnectError.from(
          await open({ sessionId: id }, { token: bob })
            .rest()
            .catch(ConnectError.from),
        );
        return { code, message: rawMessage.replace(id, "ID") };
      }),
    );
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]?.code).toBe(Code.NotFound);
  });

  async function start(options: Partial<ServerOptions> = {}): Promise<void> {
    const environment = { CODEX_HOME: home, PATH: process.env.PATH ?? "" };
    const codex = codexAgent({ command: FAKE_APP_SERVER, environment });
    server = await createServer({
      agents: { codex },
      dialects: [codexQueues(), ...defaultDialects()],
      workspace,
      limits: { maxStreamsPerCaller: 2 },
      ...options,
    });
  }

  interface Wire {
    readonly wire?: "connect" | "grpc";
    readonly token?: string | undefined;
  }

  interface Configuration {
    readonly sessionId?: string;
    readonly cwd?: string;
    readonly resumeAfter?: string;
  }

  /** Opens a stream and configures its session. */
  function open(
    configuration: Configuration = {},
    wire: Wire = {},
  ): ClientStream {
    const stream = connect(wire);
    stream.submit("configure", {
      case: "configureSession",
      value: configuration,
    });
    return stream;
  }

  function connect(wire: Wire = {}): ClientStream {
    const client = createClient(SessionService, transportOf(wire));
    return new ClientStream((submissions) => client.openSession(submissions));
  }

  function transportOf({ wire, token = server.token }: Wire = {}): Transport {
    const options = {
      baseUrl: server.url,
      interceptors: [bearerInterceptor(token)],
    };
    return wire === "grpc"
      ? createGrpcTransport(options)
      : createConnectTransport({ ...options, httpVersion: "2" });
  }
});

/** Returns what a question says about each of its options. */
function optionsOf({ msg }: SessionEvent): string[] {
  const options = msg.value && "options" in msg.value ? msg.value.options : [];
  return options.map(({ label, description }) =>
    [label, description].filter((words) => words !== "").join(": "),
  );
}

function deltas(count: number): string[] {
  return Array.from({ length: count }, () => "agentMessageDelta");
}
