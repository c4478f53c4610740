/**
 * Prints what a server did in a turn in which the agent asks, and refuses long
 * messages with an interceptor.
 *
 *     node main.ts
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMessage } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import {
  confirmationPart,
  createDevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { SendMessageRequestSchema, TaskState } from "@devtool/schema";
import { OperationTree } from "./tree.ts";

const MAX_PARTS = 3;

const fewParts: Interceptor = (next) => async (request) => {
  if (isMessage(request.message, SendMessageRequestSchema)) {
    const { length } = request.message.message?.parts ?? [];
    if (length > MAX_PARTS) {
      throw new ConnectError(
        `parts: ${length}: at most ${MAX_PARTS}`,
        Code.InvalidArgument,
      );
    }
  }
  return next(request);
};

const workspace = await mkdtemp(join(tmpdir(), "observer-"));
const tree = new OperationTree();
const server = await serveCodingAgent({
  workspace,
  observer: tree.observer,
  interceptors: [fewParts],
});
const { tasks } = createDevtoolClient(await server.transport());

// The prompt is a script of the keyless agent (docs/models.md).
const prompt = textMessage("first", "write note.txt Hello\ntext Written.");
const { task } = await tasks.sendMessage({ message: prompt });
assert.equal(task?.state, TaskState.INPUT_REQUIRED);
const [call] = pendingToolCalls(task);
assert(call !== undefined);
const parts = [confirmationPart(call, "proceed_once")];
const { task: ended } = await tasks.sendMessage({
  message: { messageId: "answer", parts },
  taskId: task.id,
});
assert.equal(ended?.state, TaskState.COMPLETED);

const part = prompt.parts[0];
assert(part !== undefined);
await assert.rejects(
  async () =>
    tasks.sendMessage({
      message: { messageId: "long", parts: Array(MAX_PARTS + 1).fill(part) },
    }),
  /parts: 4: at most 3/,
);

const lines = tree.lines();
console.log(lines.join("\n"));
for (const expected of [
  /^request SendMessage \(/,
  /^ {2}append \(/,
  /^ {2}turn devtool \(/,
  /^ {4}step scripted \(/,
  /^ {4}question write_file \(/,
  /^ {4}call write_file \(/,
  /^ {4}append \(/,
  /^request SendMessage \(.*failed/,
]) {
  assert(
    lines.some((line) => expected.test(line)),
    String(expected),
  );
}
await server.close();
await rm(workspace, { recursive: true });
console.log("ok");
