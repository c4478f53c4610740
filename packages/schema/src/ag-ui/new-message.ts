import { create, equals } from "@bufbuild/protobuf";
import type { Message as AgUiMessage } from "../gen/devtool/ag_ui/v1alpha/message_pb.ts";
import type { RunAgentInput } from "../gen/devtool/ag_ui/v1alpha/run_pb.ts";
import { type Message, type Part, PartSchema, type Task } from "../gen/devtool/v1alpha/task_pb.ts";
import { quote, WireError } from "../wire-error.ts";
import { partsOfUser } from "./content.ts";

/** What a user says in a run. */
export interface NewMessage {
  readonly messageId: string;
  readonly parts: readonly Part[];
}

/**
 * Returns what is new in a run: the user's messages at the end that the thread does not have, as one message with the id
 * of the last. Undefined if there is nothing new.
 *
 * All other messages are not read, whoever is said to have sent them. Throws a `WireError` for an id that the thread has
 * with other content, and for content that cannot be sent.
 */
export function newMessageOf({ messages, context }: RunAgentInput, task: Task): NewMessage | undefined {
  const known = knownMessages(task);
  const first = messages.findLastIndex(({ role }) => role !== "user") + 1;
  const said = messages.slice(first).map((message, index) => ({ message, path: `messages[${first + index}]` }));
  const last = said.at(-1);
  const recorded = last && known.get(last.message.id);
  if (last && recorded) assertSame(last.message, recorded, last.path);
  if (!last || recorded) return undefined;
  const parts = said
    .filter(({ message }) => !known.has(message.id))
    .flatMap(({ message, path }) => partsOfUser(message, path));
  return { messageId: last.message.id, parts: context.length > 0 ? [...parts, contextPart(context)] : parts };
}

/** Returns the messages of users in a task, by their ids. */
function knownMessages({ history, queuedMessages }: Task): ReadonlyMap<string, Message> {
  const messages = [...history, ...queuedMessages.flatMap(({ message }) => message ?? [])];
  return new Map(messages.map((message) => [message.messageId, message]));
}

/** Throws for a message that says something else than the thread has under its id. */
function assertSame(message: AgUiMessage, { parts }: Message, path: string): void {
  const own = partsOfUser(message, path);
  // Those before it in the same run are recorded with it, and go first.
  const recorded = parts.filter(({ content }) => content.case === "text" || content.case === "file").slice(-own.length);
  const isSame = own.length === recorded.length && own.every((part, at) => isEqual(part, recorded[at]));
  if (isSame) return;
  throw new WireError(
    `${path}.id`,
    quote(message.id),
    "was used for another message: choose an id that is new for each message",
  );
}

function isEqual(part: Part, other: Part | undefined): boolean {
  return other !== undefined && equals(PartSchema, part, other);
}

function contextPart(context: RunAgentInput["context"]): Part {
  const list = context.map(({ description, value }) => ({ description, value }));
  return create(PartSchema, { content: { case: "data", value: { context: list } } });
}
