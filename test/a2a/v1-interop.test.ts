import { type StreamResponse, TaskState } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { EXTENSION_URI } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GatedModel } from "../durability/message-queue/gated-model.ts";
import {
  BINDINGS,
  dataPart,
  officialClient,
  sending,
  taskOf,
  textPart,
  textsOf,
  userMessage,
  WITH_EXTENSION,
} from "./v1/a2a-js-client.ts";

describe.each(BINDINGS)("@a2a-js/sdk 1.3 over %s", (binding) => {
  let workspace: string;
  let server: DevtoolServer;
  let client: Client;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({ workspace });
    client = await officialClient(server, binding);
  });
  afterAll(() => server.close());

  it("chooses the binding of version 1.0 from the card", () => {
    expect([client.transport.protocolName, client.protocolVersion]).toEqual([
      binding,
      "1.0",
    ]);
  });

  it("sends a message and gets the task that it began", async () => {
    const task = await client.sendMessage(
      sending(userMessage([textPart("text Hello.")])),
    );
    expect(task).toMatchObject({
      status: { state: TaskState.TASK_STATE_COMPLETED },
    });
  });

  it("plays Appendix A: streams thoughts and calls, asks for an approval, gets it, runs the call (STREAM-4)", async () => {
    const script =
      "think\nread missing.txt\nwrite made.txt It is here.\nrun cat made.txt\ntext Done.";
    const asked = await Array.fromAsync(
      client.sendMessageStream(
        sending(userMessage([textPart(script)])),
        WITH_EXTENSION,
      ),
    );
    const { id: taskId, contextId } = taskOf(asked);
    expect(kindsOf(asked)).toEqual(
      expect.arrayContaining(["STATE_CHANGE", "THOUGHT", "TOOL_CALL_UPDATE"]),
    );
    expect(stateOf(asked)).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const answered = await answerAll(asked, { taskId, contextId });
    expect(stateOf(answered)).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textsOf(answered)).toContain("Done.");
    expect(fileText(workspace, "made.txt")).toBe("It is here.");
  });

  it("answers an approval in plain text when it does not know the extension (CARD-3)", async () => {
    const asked = await Array.fromAsync(
      client.sendMessageStream(
        sending(userMessage([textPart("write words.txt Yes.")])),
      ),
    );
    const { id: taskId, contextId } = taskOf(asked);
    expect(textsOf(asked)).toContain("May I call write_file?");
    const task = await client.sendMessage(
      sending(userMessage([textPart("yes")], { taskId, contextId })),
    );
    expect(task).toMatchObject({
      id: taskId,
      status: { state: TaskState.TASK_STATE_COMPLETED },
    });
    expect(fileText(workspace, "words.txt")).toBe("Yes.");
  });

  it("cancels a working task, and gets an error for a task that has ended", async () => {
    const [begun] = await begin("wait 60000");
    const id = begun?.id ?? "";
    const canceled = await client.cancelTask({ tenant: "", id, metadata: {} });
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(
      client.cancelTask({ tenant: "", id, metadata: {} }),
    ).rejects.toMatchObject({
      name: "TaskNotCancelableError",
    });
  });

  it("subscribes to a task: a snapshot first, then updates to its end", async () => {
    const model = new GatedModel();
    await using busy = await serveCodingAgent({ workspace, model });
    const itsClient = await officialClient(busy, binding);
    const [begun] = await begin("hello", itsClient);
    const place = { tenant: "", id: begun?.id ?? "" };
    const seen = [];
    for await (const element of itsClient.resubscribeTask(place)) {
      if (seen.push(element) > 1) continue;
      await model.asked(1);
      model.answer("Late.");
    }
    expect(taskOf(seen).id).toBe(begun?.id);
    expect(textsOf(seen)).toContain("Late.");
    expect(stateOf(seen)).toBe(TaskState.TASK_STATE_COMPLETED);
    await expect(
      Array.fromAsync(itsClient.resubscribeTask(place)),
    ).rejects.toMatchObject({
      name: "UnsupportedOperationError",
    });
  });

  it("continues an ended task in a new one that refers to it; a retry begins no further task (STREAM-5)", async () => {
    const first = taskOf(
      await Array.fromAsync(
        client.sendMessageStream(sending(userMessage([textPart("text One.")]))),
      ),
    );
    const more = userMessage([textPart("text Two.")], { taskId: first.id });
    const next = taskOf(
      await Array.fromAsync(client.sendMessageStream(sending(more))),
    );
    expect(next.id).not.toBe(first.id);
    expect(next.contextId).toBe(first.contextId);
    expect(next.history[0]?.referenceTaskIds).toEqual([first.id]);
    const again = taskOf(
      await Array.fromAsync(client.sendMessageStream(sending(more))),
    );
    expect(again.id).toBe(next.id);
  });

  it("gets the errors that A2A defines", async () => {
    const nothing = { tenant: "", id: "nope" };
    await expect(
      client.getTask({ ...nothing, historyLength: undefined }),
    ).rejects.toMatchObject({
      name: "TaskNotFoundError",
    });
    await expect(
      Array.fromAsync(client.resubscribeTask(nothing)),
    ).rejects.toMatchObject({
      name: "TaskNotFoundError",
    });
    await expect(client.sendMessage(sending(userMessage([])))).rejects.toThrow(
      "message.parts is missing",
    );
    const strange = {
      ...sending(userMessage([textPart("text Hi.")])),
      configuration: imagesOnly(),
    };
    await expect(client.sendMessage(strange)).rejects.toMatchObject({
      name: "ContentTypeNotSupportedError",
    });
  });

  it("lists its tasks in pages, each task once", async () => {
    const { contextId } = taskOf(
      await Array.fromAsync(
        client.sendMessageStream(sending(userMessage([textPart("text 1")]))),
      ),
    );
    for (const text of ["text 2", "text 3"]) {
      await client.sendMessage(
        sending(userMessage([textPart(text)], { contextId })),
      );
    }
    const ids: string[] = [];
    let pageToken = "";
    do {
      const page = await client.listTasks({
        ...anyTask(),
        contextId,
        pageSize: 2,
        pageToken,
      });
      expect(page.totalSize).toBe(3);
      ids.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(new Set(ids).size).toBe(3);
  });

  async function begin(script: string, by: Client = client) {
    const configuration = {
      ...imagesOnly(),
      acceptedOutputModes: [],
      returnImmediately: true,
    };
    const task = await by.sendMessage({
      ...sending(userMessage([textPart(script)])),
      configuration,
    });
    return "status" in task ? [task] : [];
  }

  async function answerAll(
    asked: StreamResponse[],
    place: { taskId: string; contextId: string },
  ) {
    let stream = asked;
    while (stateOf(stream) === TaskState.TASK_STATE_INPUT_REQUIRED) {
      const answers = askingCalls(stream).map((id) =>
        dataPart({ tool_call_id: id, selected_option_id: "proceed_once" }),
      );
      stream = await Array.fromAsync(
        client.sendMessageStream(
          sending(userMessage(answers, place)),
          WITH_EXTENSION,
        ),
      );
    }
    return stream;
  }
});

type Responses = readonly StreamResponse[];

function kindsOf(responses: Responses): unknown[] {
  return responses.map(({ payload }) =>
    payload?.$case === "statusUpdate"
      ? payload.value.metadata?.[EXTENSION_URI]?.kind
      : undefined,
  );
}

function stateOf(responses: Responses): TaskState | undefined {
  const last = responses.at(-1)?.payload;
  return last?.$case === "statusUpdate" ? last.value.status?.state : undefined;
}

/**
 * Returns the ids of the calls that wait for approval at the end of a stream.
 */
function askingCalls(responses: Responses): string[] {
  const latest = new Map<string, boolean>();
  for (const { payload } of responses) {
    if (payload?.$case !== "statusUpdate") continue;
    for (const { content } of payload.value.status?.message?.parts ?? []) {
      if (
        content?.$case !== "data" ||
        typeof content.value?.tool_call_id !== "string"
      ) {
        continue;
      }
      latest.set(
        content.value.tool_call_id,
        content.value.confirmation_request !== undefined,
      );
    }
  }
  return [...latest].filter(([, asks]) => asks).map(([id]) => id);
}

function imagesOnly() {
  return {
    acceptedOutputModes: ["image/png"],
    taskPushNotificationConfig: undefined,
    historyLength: undefined,
    returnImmediately: false,
  };
}

function anyTask() {
  return {
    tenant: "",
    contextId: "",
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageSize: undefined,
    pageToken: "",
    historyLength: undefined,
    statusTimestampAfter: undefined,
    includeArtifacts: undefined,
  };
}
