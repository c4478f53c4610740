import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { DevtoolClient } from "@devtool/client";
import { type AgentSettings, AgentSettingsSchema, type Task, type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { type Approver, approveAll, approveByAsking, declineAll } from "./approval.ts";
import type { ConversationOptions } from "./conversation.ts";
import { ExitCode, exitCodeOf } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { createQuestioner } from "./prompter.ts";
import { writeJsonLine } from "./render/json-line.ts";
import { paintFor } from "./render/style.ts";
import { Transcript } from "./render/transcript.ts";
import type { Questioner } from "./terminal/questioner.ts";

/** How a command answers and shows. */
export interface SessionOptions {
  /** `ask`, `never` or `all`. */
  readonly approve: string;
  /** Whether `all` also runs commands again without their sandbox. */
  readonly approveWithoutSandbox?: true;
  readonly json?: true;
}

/** A conversation whose end has an exit code. */
export interface ConversationOfCommand extends ConversationOptions {
  /** The exit code of the command, by the task as it is at the end and by what was declined because nobody sat there. */
  exitCode(task: Task): number;
}

/** Puts together what a conversation needs from a command's options. */
export function conversationOf(client: DevtoolClient, options: SessionOptions, io: Io): ConversationOfCommand {
  // Questions go where events do not: lines of JSON are for programs.
  const asking = options.json ? { ...io, stdout: io.stderr } : io;
  const { approve, exitCode } = answering(options, asking, io.interactive ? createQuestioner(asking) : undefined);
  return { client, approve, exitCode, onEvent: printerOf(options, io), nextId: randomUUID };
}

/** How questions are answered, and what exit code that leads to. */
export interface Answering {
  readonly approve: Approver;
  exitCode(task: Pick<Task, "state">): number;
}

/** Answers as was wanted; without somebody to ask, declines, and then the command does not end with 0. */
export function answering(
  { approve: approval, approveWithoutSandbox }: Pick<SessionOptions, "approve" | "approveWithoutSandbox">,
  io: Io,
  questioner: Questioner | undefined,
): Answering {
  const exitCode = ({ state }: Pick<Task, "state">): number => exitCodeOf(state);
  if (approval === "all") return { approve: approveAll(io, approveWithoutSandbox ? "approve" : "decline"), exitCode };
  if (approval === "never") return { approve: declineAll(io, "--approve never"), exitCode };
  if (questioner) return { approve: approveByAsking(io, questioner), exitCode };
  let hasDeclined = false;
  const decline = declineAll(io, "nobody can be asked (see --approve)");
  return {
    approve: (asked, signal) => {
      hasDeclined = true;
      return decline(asked, signal);
    },
    exitCode: (task) => (hasDeclined && exitCode(task) === ExitCode.OK ? ExitCode.INPUT_REQUIRED : exitCode(task)),
  };
}

/** Prints events: as lines of JSON, or as a transcript. */
export function printerOf({ json }: Pick<SessionOptions, "json">, io: Io): (event: TaskEvent) => void {
  if (json) return (event) => writeJsonLine(io.stdout, TaskEventSchema, event);
  const transcript = new Transcript(paintFor(io));
  return (event) => void io.stdout.write(transcript.add(event));
}

/** The settings of a session in a directory; none when the server's default is meant. */
export function settingsOf(workspace: string | undefined): { settings?: AgentSettings } {
  return workspace === undefined
    ? {}
    : { settings: create(AgentSettingsSchema, { workspacePath: resolve(workspace) }) };
}

/** Aborts when the person presses Ctrl-C. */
export function interruptSignal(io: Io): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const stop = io.onInterrupt(() => controller.abort());
  return { signal: controller.signal, [Symbol.dispose]: stop };
}
