import { create, equals } from "@bufbuild/protobuf";
import type { RunAgentInput } from "../gen/devtool/ag_ui/v1alpha/run_pb.ts";
import {
  type Part,
  PartSchema,
  type Task,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { quote, WireError } from "../wire-error.ts";
import { partsOfUser } from "./content.ts";

/** The user's message of a run. */
export interface NewMessage {
  readonly messageId: string;
  readonly parts: readonly Part[];
}

/**
 * Returns what is new in a run: the user's messages at the end that the thread
 * does not have, as one message with the id of the last. Undefined if there is
 * nothing new.
 *
 * All other messages are ignored, whatever their role. Throws a `WireError` for
 * an id that the thread has with other content, and for content that cannot be
 * sent.
 */
export function newMessageOf(
  { messages, context }: RunAgentInput,
  task: Task,
): NewMessage | undefined {
  const inThread = [
    ...task.history,
    ...task.queuedMessages.flatMap(({ message }) => message ?? []),
  ];
  const known = new Map(
    inThread.map((message) => [message.messageId, message]),
  );
  const first = messages.findLastIndex(({ role }) => role !== "user") + 1;
  const said = messages
    .slice(first)
    .map((message, index) => ({ message, path: `messages[${first + index}]` }));
  const last = said.at(-1);
  if (!last) return undefined;
  const recorded = known.get(last.message.id);
  if (recorded) {
    const own = partsOfUser(last.message, last.path);
    // Messages before it in the same run are recorded with it, and come first.
    const theirs = recorded.parts.filter(
      ({ content }) => content.case === "text" || content.case === "file",
    );
    const compared = theirs.slice(-own.length);
    const isSame = own.every((part, index) => {
      const other = compared[index];
      return other !== undefined && equals(PartSchema, part, other);
    });
    if (isSame && own.length === compared.length) return undefined;
    const problem =
      "was used for another message: choose an id that is new for each message";
    throw new WireError(`${last.path}.id`, quote(last.message.id), problem);
  }
  const parts = said
    .filter(({ message }) => !known.has(message.id))
    .flatMap(({ message, path }) => partsOfUser(message, path));
  if (context.length > 0) {
    const value = {
      context: context.map(({ description, value }) => ({
        description,
        value,
      })),
    };
    parts.push(create(PartSchema, { content: { case: "data", value } }));
  }
  return { messageId: last.message.id, parts };
}
