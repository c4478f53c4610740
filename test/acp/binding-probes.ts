import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { pendingToolCalls, streamMessage, textMessage } from "@devtool/client";
import { sayPiece } from "@devtool/coding-agent/script";
import {
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  type Part,
  PartSchema,
  type TaskEvent,
  TaskState,
  type ToolCall,
  ToolCallStatus,
} from "@devtool/schema";
import { Conversation, type Exchange, textOf } from "./conversation.ts";
import type { RealAgent } from "./real-agents.ts";

/**
 * A conversation with an agent over one binding, through a proxy that cuts
 * connections when it is told to.
 */
export interface BindingStage {
  readonly agent: RealAgent;
  readonly workspace: string;
  /** The binding, for names of files. */
  readonly binding: string;
  readonly conversation: Conversation;
  /** The same binding through a proxy that cuts connections. */
  readonly cut: Transport;
  /** Returns the number of connections that the proxy has cut. */
  readonly cuts: () => number;
  /** Returns the bodies of the requests that the model got. */
  readonly modelRequests: () => readonly unknown[];
}

/** The size of a large output, in characters. */
const LARGE = 200 * 1024;
/** The size of a piece of a large text, in characters. */
const PIECE = 1024;

/**
 * The tests over each binding, in one conversation, by the row in
 * docs/agents.md. Each returns the text of a cell.
 */
export const BINDING_PROBES: Readonly<
  Record<string, (stage: BindingStage) => Promise<string>>
> = {
  async "thinks, asks, runs, answers (Appendix A)"(stage) {
    const asking = await stage.conversation.say(
      `think\n${runs(stage, "allowed")}\ntext All done.`,
      timeout(),
    );
    const ended = await stage.conversation.answer(
      asking,
      OPTION_PROCEED_ONCE,
      timeout(),
    );
    const kinds = ended.events.map(({ payload }) => payload.case);
    const statuses = callsIn(ended).map(({ status }) => status);
    const order = [
      kinds.indexOf("thought"),
      kinds.indexOf("toolCall"),
      textOf(ended.events).indexOf("All done."),
    ];
    return resultOf({
      asks: asking.task.state === TaskState.INPUT_REQUIRED,
      completes: ended.task.state === TaskState.COMPLETED,
      "shows all": order.every((place) => place >= 0),
      "the call succeeds": statuses.at(-1) === ToolCallStatus.SUCCEEDED,
      "runs once": linesOf(stage, "allowed") === 1,
    });
  },
  async "a declined call does not run"(stage) {
    const asking = await stage.conversation.say(
      `${runs(stage, "declined")}\ntext Ended.`,
      timeout(),
    );
    const ended = await stage.conversation.answer(
      asking,
      OPTION_CANCEL,
      timeout(),
    );
    return resultOf({
      asks: asking.task.state === TaskState.INPUT_REQUIRED,
      "asks once": pendingToolCalls(ended.task).length === 0,
      "the call is cancelled":
        callsIn(ended).at(-1)?.status === ToolCallStatus.CANCELLED,
      "does not run": linesOf(stage, "declined") === 0,
    });
  },
  async "200 KB of text, read on through cut connections"(stage) {
    const before = stage.cuts();
    const conversation = new Conversation(
      stage.cut,
      stage.conversation.contextId,
    );
    const pieces = Array.from({ length: LARGE / PIECE }, (_, index) =>
      sayPiece(index + 1, PIECE),
    );
    const { events } = await conversation.say(
      `say ${pieces.length} ${PIECE}`,
      timeout(),
    );
    const cuts = stage.cuts() - before;
    const doubles = events.filter(
      ({ sequence }, index) => sequence <= (events[index - 1]?.sequence ?? 0n),
    );
    return resultOf({
      "was cut": cuts >= 3,
      "no doubles": doubles.length === 0,
      "the whole text": textOf(events) === pieces.join(""),
    });
  },
  async "output of 200 KB of a command"(stage) {
    const command = `head -c ${LARGE} /dev/zero | tr '\\0' x`;
    const asking = await stage.conversation.say(
      `${stage.agent.runs(command)}\ntext Ended.`,
      timeout(),
    );
    const ended = await stage.conversation.answer(
      asking,
      OPTION_PROCEED_ONCE,
      timeout(),
    );
    if (ended.task.state !== TaskState.COMPLETED) return "no";
    const shown = Math.max(0, ...callsIn(ended).map(outputOf).map(lengthOfRun));
    return shown >= LARGE
      ? "whole"
      : shown > 0
        ? "shortened by the agent"
        : "not shown by the agent";
  },
  async "an image reaches the model"(stage) {
    const source = { case: "bytes", value: PNG } as const;
    const image: Part = create(PartSchema, {
      content: { case: "file", value: { mediaType: "image/png", source } },
    });
    const { task } = await stage.conversation.say("text Seen.", timeout(), [
      image,
    ]);
    if (task.state !== TaskState.COMPLETED) return "no";
    const sent = JSON.stringify(stage.modelRequests().slice(-3));
    return resultOf({
      "has a type": /image\/(png|jpeg|webp)/.test(sent),
      "has bytes": /"(data|url|image_url)":"[^"]{40,}/.test(sent),
    });
  },
  async "a turn is canceled, and the next one works"(stage) {
    const { conversation } = stage;
    const message = textMessage(
      crypto.randomUUID(),
      "text First.\nwait 600000\ntext Too late.",
    );
    const { contextId } = conversation;
    let last: TaskEvent | undefined;
    let canceled = false;
    for await (const event of streamMessage(
      conversation.client,
      { message, contextId },
      timeout(),
    )) {
      last = event;
      if (canceled || event.state !== TaskState.WORKING) continue;
      canceled = true;
      await conversation.client.tasks.cancelTask(
        { taskId: event.taskId },
        { signal: timeout() },
      );
    }
    const { task } = await conversation.say("text And on.", timeout());
    return resultOf({
      "is canceled": last?.state === TaskState.CANCELED,
      "goes on": task.state === TaskState.COMPLETED,
    });
  },
};

/** How long one turn of a real agent may take, in milliseconds. */
const TURN_MS = 90_000;

/** An image of 8 by 8 black pixels. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAADElEQVR42mNgoA4AAABIAAEQRe/SAAAAAElFTkSuQmCC",
  "base64",
);

function runs({ agent, binding }: BindingStage, name: string): string {
  return agent.runs(`echo x >> ${fileOf(binding, name)}`);
}

function linesOf({ workspace, binding }: BindingStage, name: string): number {
  const path = join(workspace, fileOf(binding, name));
  return existsSync(path)
    ? readFileSync(path, "utf8").trim().split("\n").length
    : 0;
}

function fileOf(binding: string, name: string): string {
  return `${name}-${binding.replace(/\W+/g, "-")}.txt`;
}

function callsIn({ events }: Exchange): ToolCall[] {
  return events.flatMap(({ payload }) =>
    payload.case === "toolCall" ? [payload.value] : [],
  );
}

function outputOf({ liveContent = "", result }: ToolCall): string {
  const output =
    result.case === "output" && result.value.result.case === "text"
      ? result.value.result.value
      : "";
  return `${liveContent}\n${output}`;
}

/**
 * Returns the length of the longest run of the letter that the command prints.
 * A run of fewer than 100 letters is not output of the command: the random name
 * of the workspace, which some agents show beside the command, may hold the
 * letter, too.
 */
function lengthOfRun(text: string): number {
  return Math.max(
    0,
    ...[...text.matchAll(/x{100,}/g)].map(([run]) => run.length),
  );
}

/** Returns the words of a cell: `yes`, or what is not so. */
export function resultOf(facts: Readonly<Record<string, boolean>>): string {
  const missing = Object.keys(facts).filter((fact) => facts[fact] !== true);
  return missing.length === 0 ? "yes" : `not: ${missing.join(", ")}`;
}

function timeout(): AbortSignal {
  return AbortSignal.timeout(TURN_MS);
}
