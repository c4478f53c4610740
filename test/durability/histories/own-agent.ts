import { create } from "@bufbuild/protobuf";
import {
  ArtifactUpdateSchema,
  IdeContextSchema,
  type Message,
  PartSchema,
  Role,
  type Task,
  TaskState,
} from "@devtool/schema";
import type { Agent, AgentEvent } from "@devtool/server";

/**
 * An agent that is not ours: it makes an artifact, answers with a message
 * alone, refuses, or says what it is told to.
 */
export const ownAgent: Agent = {
  about: { name: "own", description: "Is not ours." },
  open: () => ({
    createExecutor: () => ({
      answersWith: ({ history: [first] }) =>
        first && textOf(first) === "reply" ? "message" : "task",
      modelFor: () => "own",
      execute: async function* ({ task }) {
        yield* answer(task);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
  }),
};

/** What an editor shows. */
const EDITOR = create(IdeContextSchema, {
  editor: "Editor",
  isWhole: true,
  files: [{ path: "a.txt", isActive: true, selectedText: "one" }],
});

function* answer({ history }: Task): Iterable<AgentEvent> {
  const said = history.findLast(({ role }) => role === Role.USER);
  const prompt = said ? textOf(said) : "";
  switch (prompt) {
    case "strive":
      return yield { case: "text", value: "I try." };
    case "look":
      yield { case: "ideContext", value: EDITOR };
      return yield { case: "text", value: "Seen." };
    case "make":
      yield {
        case: "artifact",
        value: chunk("one, ", { append: false, lastChunk: false }),
      };
      yield {
        case: "artifact",
        value: chunk("two", { append: true, lastChunk: true }),
      };
      return yield {
        case: "end",
        value: { state: TaskState.COMPLETED, text: "Made." },
      };
    case "reply":
      return yield { case: "reply", value: [textPart("Just this.")] };
    case "refuse":
      return yield {
        case: "end",
        value: { state: TaskState.REJECTED, text: "Not here." },
      };
    default:
      yield { case: "text", value: prompt.replace(/^text /, "") };
  }
}

function chunk(
  text: string,
  place: { readonly append: boolean; readonly lastChunk: boolean },
) {
  const artifact = {
    artifactId: "a1",
    name: "counted",
    description: "Two numbers.",
    parts: [textPart(text)],
  };
  return create(ArtifactUpdateSchema, {
    artifact: { ...artifact, metadata: { by: "own" } },
    ...place,
  });
}

function textPart(text: string) {
  return create(PartSchema, { content: { case: "text", value: text } });
}

function textOf({ parts }: Message): string {
  const [part] = parts;
  return part?.content.case === "text" ? part.content.value : "";
}
