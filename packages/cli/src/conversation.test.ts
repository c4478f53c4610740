import {
  confirmationPart,
  type DevtoolClient,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState, type ToolCall } from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import type { AskedCall } from "./approval.ts";
import { createClient } from "./connection/connection.ts";
import { converse } from "./conversation.ts";

describe("a conversation", () => {
  const { signal } = new AbortController();
  let workspace: string;
  beforeEach(() => {
    workspace = temporaryDirectory();
  });

  it("asks again when a question changed while it was read, and the answer is for what was shown then", async () => {
    await using server = await serveCodingAgent({ workspace });
    const asked = await play(server, async ({ call }, client) => {
      if (newContentOf(call) === "mine") {
        await answerElsewhere(client, call, "modify_with_editor", "theirs");
      }
    });
    expect(asked.map(newContentOf)).toEqual(["mine", "theirs"]);
    expect(fileText(workspace, "a.txt")).toBe("theirs");
    expect(problems).toEqual([
      expect.stringContaining("its question has changed"),
    ]);
  });

  it("goes on without asking when a question was answered elsewhere while it was read", async () => {
    putFile(workspace, "a.txt", "old");
    await using server = await serveCodingAgent({ workspace });
    const asked = await play(server, ({ call }, client) =>
      answerElsewhere(client, call, "cancel"),
    );
    expect(asked).toHaveLength(1);
    expect(fileText(workspace, "a.txt")).toBe("old");
    expect(problems).toEqual([
      expect.stringContaining('was already answered with "cancel"'),
    ]);
  });

  const problems: string[] = [];
  let taskId = "";

  /**
   * Has a file written and approves each question, after something was done
   * meanwhile. Returns what was asked.
   */
  async function play(
    server: { readonly url: string; readonly token: string },
    meanwhile: (asked: AskedCall, client: DevtoolClient) => Promise<void>,
  ): Promise<readonly ToolCall[]> {
    problems.length = 0;
    const client = await createClient(server, "connect");
    const asked: ToolCall[] = [];
    const options = {
      client,
      onEvent: (event: { readonly taskId: string }) => {
        taskId = event.taskId;
      },
      onOutdated: (problem: string) => problems.push(problem),
      nextId: () => crypto.randomUUID(),
      clientLabel: "test",
      approve: async (question: AskedCall) => {
        asked.push(question.call);
        await meanwhile(question, client);
        return [confirmationPart(question.call, "proceed_once")];
      },
    };
    const message = textMessage(crypto.randomUUID(), "write a.txt mine");
    const task = await converse({ request: { message } }, options, signal);
    expect(task.state).toBe(TaskState.COMPLETED);
    return asked;
  }

  async function answerElsewhere(
    client: DevtoolClient,
    call: ToolCall,
    option: string,
    content?: string,
  ) {
    const message = {
      messageId: crypto.randomUUID(),
      parts: [confirmationPart(call, option, content)],
    };
    for await (const _event of streamMessage(
      client,
      { message, taskId },
      signal,
    )) {
    }
  }
});

function newContentOf({ confirmationRequest }: ToolCall): string {
  const details = confirmationRequest?.details;
  return details?.case === "fileEditDetails" ? details.value.newContent : "";
}
