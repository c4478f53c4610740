import type { MessageInitShape } from "@bufbuild/protobuf";
import { acpAgent } from "@devtool/acp";
import { fakeAgentCommand } from "@devtool/acp/testing";
import {
  confirmationPart,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  OPTION_PROCEED_ONCE,
  reduceTask,
  type SendMessageRequestSchema,
  type Task,
  TaskState,
} from "@devtool/schema";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { postJson } from "../post-json.ts";

const signal = AbortSignal.timeout(300_000);

describe("two agents of one server that ask under the same id of a call", () => {
  let server: DevtoolServer;
  let workspace: string;
  let ofOne: Task;
  let ofTwo: Task;
  beforeEach(async () => {
    workspace = temporaryDirectory();
    const [one, two] = ["one", "two"].map((name) =>
      acpAgent({ name, command: fakeAgentCommand() }),
    );
    if (!one || !two) throw new Error("there are no agents");
    server = await createServer({ agents: { one, two }, workspace });
    ofOne = await ask("one");
    ofTwo = await ask("two");
    expect(
      [ofOne, ofTwo]
        .flatMap(pendingToolCalls)
        .map(({ toolCallId }) => toolCallId),
    ).toEqual(["call-1", "call-1"]);
  });
  afterEach(() => server.close());

  it("get the answers of their own tasks only", async () => {
    expect((await answer(ofOne)).state).toBe(TaskState.COMPLETED);
    expect(pendingToolCalls(await current(ofTwo))).toHaveLength(1);
    expect((await answer(ofTwo)).state).toBe(TaskState.COMPLETED);
  });

  it.each<
    readonly [
      address: string,
      path: string,
      headers: Readonly<Record<string, string>>,
    ]
  >([
    ["the path of A2A 0.3", "/agents/one/v1/message:send", {}],
    ["the tenant of A2A 1.0", "/one/message:send", { "a2a-version": "1.0" }],
  ])(
    "are not answered at the address of the other one: %s",
    async (_address, path, headers) => {
      const content = [{ text: "yes" }];
      const message = {
        messageId: "yes",
        taskId: ofTwo.id,
        role: "ROLE_USER",
        content,
        parts: content,
      };
      const { content: _ofVersion03, ...ofVersion1 } = message;
      const { parts: _ofVersion1, ...ofVersion03 } = message;
      const response = await postJson(
        server,
        path,
        {
          message: "a2a-version" in headers ? ofVersion1 : ofVersion03,
        },
        headers,
      );
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining("is not the agent of this session"),
      ]);
      expect(pendingToolCalls(await current(ofTwo))).toHaveLength(1);
      expect(pendingToolCalls(await current(ofOne))).toHaveLength(1);
    },
  );

  function ask(agent: string): Promise<Task> {
    const message = textMessage(crypto.randomUUID(), "ask make");
    return follow({ message, sessionSettings: { agent } }, emptyTask());
  }

  function answer(task: Task): Promise<Task> {
    const parts = pendingToolCalls(task).map((call) =>
      confirmationPart(call, OPTION_PROCEED_ONCE),
    );
    return follow(
      { message: { messageId: crypto.randomUUID(), parts }, taskId: task.id },
      task,
    );
  }

  async function follow(
    request: MessageInitShape<typeof SendMessageRequestSchema>,
    before: Task,
  ): Promise<Task> {
    let task = before;
    for await (const event of streamMessage(
      clientOf(server),
      request,
      signal,
    )) {
      task = reduceTask(task, event);
    }
    return task;
  }

  async function current({ id }: Task): Promise<Task> {
    return (
      (await clientOf(server).tasks.getTask({ taskId: id })).task ?? emptyTask()
    );
  }
});
