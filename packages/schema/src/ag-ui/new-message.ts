import { create, equals } from "@bufbuild/protobuf";
import type { Message as AgUiMessage } from "../gen/devtool/ag_ui/v1alpha/message_pb.ts";
import type { RunAgentInput } from "../gen/devtool/ag_ui/v1alpha/run_pb.ts";
import { type Message, type Part, PartSchema, type Task } from "../gen/devtool/v1alpha/task_pb.ts";
import { quote, WireError } from "../wire-error.ts";
import { partsOfUser } from "./content.ts";

/** The user's message of a run. */
export interface NewMessage {
  readonly messageId: string;
  readonly parts: readonly Part[];
}

/**
 * Returns what is new in a run: the user's messages at the end that the thread does not have, as one message with the id
 * of the last. Undefined if there is nothing new.
 *
 * All other messages are ignored, whatever their role. Throws a `WireError` for an id that the thread has with other
 * content, and for content that cannot be sent.
 */
export function newMessageOf({ messages, context }: RunAgentInput, task: Task): NewMessage | undefined {
  const inThread = [...task.history, ...task.queuedMessages.flatMap(({ message }) => message ?? [])];
  const known = new Map(inThread.map((message) => [message.messageId, message]));
  const first = messages.findLastIndex(({ role }) => role !== "user") + 1;
  const said = messages.slice(first).map((message, index) => ({ message, path: `messages[${first + index}]` }));
  const last = said.at(-1);
  const recorded = last && known.get(last.message.id);
  if (last && recorded) assertSame(last.message, recorded, last.path);
  if (!last || recorded) return undefined;
  const parts = said
    .filter(({ message }) => !known.has(message.id))
    .flatMap(({ message, path }) => partsOfUser(message, path));
  if (context.length > 0) {
    const value = { context: context.map(({ description, value }) => ({ description, value })) };
    parts.push(create(PartSchema, { content: { case: "data", value } }));
  }
  return { messageId: last.message.id, parts };
}

/** Throws a `WireError` for a message that differs from the one that the thread has under its id. */
function assertSame(message: AgUiMessage, { parts }: Message, path: string): void {
  const own = partsOfUser(message, path);
  // Messages before it in the same run are recorded with it, and come first.
  const recorded = parts.filter(({ content }) => content.case === "text" || content.case === "file").slice(-own.length);
  const isSame = own.every((part, index) => {
    const other = recorded[index];
    return other !== undefined && equals(PartSchema, part, other);
  });
  if (isSame && own.length === recorded.length) return;
  throw new WireError(
    `${path}.id`,
    quote(message.id),
    "was used for another message: choose an id that is new for each message",
  );
}
