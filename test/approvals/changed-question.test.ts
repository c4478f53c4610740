import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import {
  type AskedToolCall,
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { SHOWN_DIGEST_URI, type Task } from "@devtool/schema";
import {
  ReviewDecision,
  type SessionEvent,
  SessionService,
} from "@devtool/schema/codex";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Conversation } from "../audit/conversation.ts";
import { transportOf } from "../client-of.ts";
import { ClientStream } from "../codex/sq-eq/client-stream.ts";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";

type ApplyPatchApprovalRequest = Extract<
  SessionEvent["msg"],
  { case: "applyPatchApprovalRequest" }
>["value"];

const LIMIT_MS = 60_000;
const signal = AbortSignal.timeout(LIMIT_MS * 5);
const CHANGED = {
  code: Code.FailedPrecondition,
  rawMessage: expect.stringContaining("its question has changed"),
};

/**
 * A task that has asked twice under the same id: before kill -9, and after it
 * about a file that had changed meanwhile.
 */
interface AskedTwice {
  readonly shown: Task;
  readonly asked: Task;
  /** Returns what is in the file that both questions are about. */
  readonly content: () => string;
}

describe("an answer to a question that has changed (TOOL-11)", () => {
  /**
   * How many tasks ask before the one kill -9 that all share: one for each test
   * that takes one.
   */
  const TASKS = 8;
  const shownTasks: Task[] = [];
  let base: string;
  let workspace: string;
  let server: ServerProcess;
  beforeAll(async () => {
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    mkdirSync(workspace);
    server = await serve();
    for (let at = 0; at < TASKS; at++) {
      putFile(workspace, `a-${at}.txt`, "old");
      shownTasks.push(
        await user().start(`write b-${at}.txt good\nwrite a-${at}.txt good`),
      );
    }
    await server.kill();
    for (let at = 0; at < TASKS; at++) {
      putFile(workspace, `a-${at}.txt`, "theirs");
    }
    server = await serve();
  });
  afterAll(() => server.kill());

  it("is refused after kill -9 and a change of the file: nothing runs, and the question stays", async () => {
    const { shown, asked, content } = await askTwice();
    await expect(
      user().answerTo(shown, lastQuestion(shown), "proceed_once"),
    ).rejects.toMatchObject(CHANGED);
    const still = await read(shown.id);
    expect([pendingToolCalls(still), content()]).toEqual([
      pendingToolCalls(asked),
      "theirs",
    ]);
    await user().answer(still, "proceed_once");
    expect(content()).toBe("good");
  });

  it("cannot decline what was not shown either", async () => {
    const { shown } = await askTwice();
    await expect(
      user().answerTo(shown, lastQuestion(shown), "cancel"),
    ).rejects.toMatchObject(CHANGED);
    expect(pendingToolCalls(await read(shown.id))).toHaveLength(1);
  });

  it("counts for what is asked then if it has no digest, as that of plain clients (the control)", async () => {
    const { shown, content } = await askTwice();
    await user().answerTo(
      shown,
      withoutDigest(lastQuestion(shown)),
      "proceed_once",
    );
    expect(content()).toBe("good");
  });

  it.each([
    ["0.3", (digest: string, call: string) => answerV03(digest, call)],
    ["1.0", (digest: string, call: string) => answerV1(digest, call)],
    [
      "0.3 in the dialect of Gemini CLI",
      (digest: string, call: string) => answerGeminiCli(digest, call),
    ],
  ])("is refused over A2A %s", async (_, bodyOf) => {
    const { shown, asked, content } = await askTwice();
    const [before, after] = [shown, asked].map(digestOf);
    const { toolCallId } = lastQuestion(shown);
    expect(await bodyOf(before ?? "", toolCallId)(shown)).toMatchObject({
      error: { message: expect.stringContaining("its question has changed") },
    });
    expect(await bodyOf("x", toolCallId)(shown)).toMatchObject({
      error: { code: -32602 },
    });
    expect(content()).toBe("theirs");
    expect(await bodyOf(after ?? "", toolCallId)(shown)).toHaveProperty(
      "result",
    );
    expect(content()).toBe("good");
  });

  it.each(["0.3", "1.0"] as const)(
    "is refused over A2A %s, where our client sends its digest too",
    async (version) => {
      const { shown, content } = await askTwice();
      const options = {
        url: server.info.url,
        token: server.info.token,
        protocolVersion: version,
      };
      const client = createDevtoolClient(createA2aTransport(options));
      const message = {
        messageId: crypto.randomUUID(),
        parts: [confirmationPart(lastQuestion(shown), "proceed_once")],
      };
      const sending = client.tasks.sendMessage(
        { message, taskId: shown.id },
        { signal },
      );
      await expect(sending).rejects.toThrow("its question has changed");
      expect(content()).toBe("theirs");
    },
  );

  it("is refused when another client has edited the proposal", async () => {
    const content = fileOfTheirs("edited.txt");
    const shown = await user().start("write edited.txt good");
    const edited = await user().answer(shown, "modify_with_editor", "better");
    await expect(
      user().answerTo(shown, lastQuestion(shown), "proceed_once"),
    ).rejects.toMatchObject(CHANGED);
    expect(content()).toBe("theirs");
    await user().answer(edited, "proceed_once");
    expect(content()).toBe("better");
  });

  it("comes again in a stream of Codex's queues, where the old answer is refused and the new one counts", async () => {
    const content = fileOfTheirs("patched.txt");
    const transport = transportOf(server.info, "2");
    const stream = new ClientStream((requests) =>
      createClient(SessionService, transport).openSession(requests, { signal }),
    );
    const approve = (
      id: string,
      { callId, digest }: ApplyPatchApprovalRequest,
    ) =>
      stream.submit(id, {
        case: "patchApproval",
        value: {
          callId,
          decision: ReviewDecision.APPROVED,
          shownDigest: digest,
        },
      });
    stream.submit("i0", { case: "configureSession", value: {} });
    const items = [
      { content: { case: "text", value: "write patched.txt good" } as const },
    ];
    stream.submit("i1", { case: "userInput", value: { items } });
    const configured = await stream.until("sessionConfigured");
    const shown = questionIn(await stream.until("applyPatchApprovalRequest"));
    const taskId =
      configured.msg.case === "sessionConfigured"
        ? configured.msg.value.sessionId
        : "";
    await user().answer(await read(taskId), "modify_with_editor", "better");
    const asked = questionIn(await stream.until("applyPatchApprovalRequest"));
    expect([shown.change?.newContent, asked.change?.newContent]).toEqual([
      "good",
      "better",
    ]);
    approve("i2", shown);
    const { msg } = await stream.until("error");
    expect(msg.value).toMatchObject({
      code: "failed_precondition",
      field: "patch_approval.shown_digest",
      message: expect.stringContaining("its question has changed"),
    });
    expect(content()).toBe("theirs");
    approve("i3", asked);
    stream.end();
    await stream.rest();
    expect(content()).toBe("better");
  });

  /**
   * Takes a task that asked about two files before kill -9, after which the
   * second one had changed. The answer about the first has the agent ask again
   * about the second, under the same id.
   */
  async function askTwice(): Promise<AskedTwice> {
    const shown =
      shownTasks.shift() ??
      expect.unreachable("each test needs a task of its own: raise TASKS");
    const [first] = pendingToolCalls(shown);
    await user().answerTo(shown, first ?? expect.unreachable(), "proceed_once");
    await expect
      .poll(async () => digestOf(await read(shown.id)), { timeout: LIMIT_MS })
      .not.toBe(digestOf(shown));
    return {
      shown,
      asked: await read(shown.id),
      content: contentOf(`a-${TASKS - shownTasks.length - 1}.txt`),
    };
  }

  /** Makes a file that is not the agent's. Returns what reads it. */
  function fileOfTheirs(name: string): () => string {
    putFile(workspace, name, "theirs");
    return contentOf(name);
  }

  function contentOf(name: string): () => string {
    return () => fileText(workspace, name);
  }

  function answerV03(digest: string, call: string) {
    return answerWith(digest, {
      tool_call_id: call,
      selected_option_id: "proceed_once",
    });
  }

  function answerGeminiCli(digest: string, call: string) {
    return answerWith(digest, { callId: call, outcome: "proceed_once" });
  }

  function answerWith(digest: string, data: JsonObject) {
    const parts = [
      { kind: "data", data, metadata: { [SHOWN_DIGEST_URI]: digest } },
    ];
    return ({ id }: Task) =>
      post("message/send", {
        message: {
          kind: "message",
          role: "user",
          messageId: crypto.randomUUID(),
          parts,
          taskId: id,
        },
      });
  }

  function answerV1(digest: string, call: string) {
    const data = { tool_call_id: call, selected_option_id: "proceed_once" };
    const parts = [
      {
        data,
        mediaType: "application/json",
        metadata: { [SHOWN_DIGEST_URI]: digest },
      },
    ];
    return ({ id }: Task) =>
      post(
        "SendMessage",
        {
          message: {
            role: "ROLE_USER",
            messageId: crypto.randomUUID(),
            parts,
            taskId: id,
          },
        },
        "1.0",
      );
  }

  async function post(
    method: string,
    params: unknown,
    version?: string,
  ): Promise<unknown> {
    const { url, token } = server.info;
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const named =
      version === undefined ? headers : { ...headers, "A2A-Version": version };
    return (await fetch(url, { method: "POST", headers: named, body })).json();
  }

  function serve(): Promise<ServerProcess> {
    return startServing(
      ["--data", join(base, "data"), "--workspace", workspace],
      { ...process.env, HOME: base },
    );
  }

  function user(): Conversation {
    return new Conversation(server.info, signal);
  }

  async function read(taskId: string): Promise<Task> {
    const { task } = await user().client.tasks.getTask({ taskId }, { signal });
    return task ?? expect.unreachable();
  }
});

/** Returns the digest of what a task asks last. */
function digestOf(task: Task): string {
  return Buffer.from(pendingToolCalls(task).at(-1)?.shownDigest ?? []).toString(
    "base64",
  );
}

/**
 * Returns what a client still shows that has seen nothing of the task since it
 * asked: the question about the file that changed.
 */
function lastQuestion(task: Task): AskedToolCall {
  return pendingToolCalls(task).at(-1) ?? expect.unreachable();
}

/** Returns a question as clients that know no digests have it. */
function withoutDigest({
  shownDigest: _,
  ...call
}: AskedToolCall): AskedToolCall {
  return call;
}

/** Returns the question about a file that an event of a session shows. */
function questionIn({ msg }: SessionEvent): ApplyPatchApprovalRequest {
  return msg.case === "applyPatchApprovalRequest"
    ? msg.value
    : expect.unreachable();
}
