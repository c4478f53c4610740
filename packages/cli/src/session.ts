import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { create, toJsonString } from "@bufbuild/protobuf";
import type { DevtoolClient } from "@devtool/client";
import { type AgentSettings, AgentSettingsSchema, type TaskEvent, TaskEventSchema } from "@devtool/schema";
import { type Approver, approveAll, approveByAsking, approveNever } from "./approval.ts";
import type { ConversationOptions } from "./conversation.ts";
import { type Io, writeLine } from "./io.ts";
import { createPrompter, type Prompter } from "./prompter.ts";
import { paintFor } from "./render/style.ts";
import { Transcript } from "./render/transcript.ts";

/** How a command answers and shows. */
export interface SessionOptions {
  readonly approve: string;
  readonly json?: true;
}

/** Puts together what a conversation needs from a command's options. */
export function conversationOf(
  client: DevtoolClient,
  options: SessionOptions,
  io: Io,
): ConversationOptions & Disposable {
  const prompter = io.interactive && options.approve === "ask" ? createPrompter(io) : undefined;
  return {
    client,
    approve: approverOf(options, io, prompter),
    onEvent: printerOf(options, io),
    nextId: randomUUID,
    [Symbol.dispose]: () => prompter?.[Symbol.dispose](),
  };
}

function approverOf({ approve }: SessionOptions, io: Io, prompter: Prompter | undefined): Approver {
  if (approve === "all") return approveAll;
  return prompter ? approveByAsking(io, paintFor(io), prompter) : approveNever(io);
}

/** Prints events: as lines of JSON, or as a transcript. */
export function printerOf({ json }: Pick<SessionOptions, "json">, io: Io): (event: TaskEvent) => void {
  if (json) return (event) => writeLine(io.stdout, toJsonString(TaskEventSchema, event));
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
