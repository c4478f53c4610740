import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { DevtoolClient } from "@devtool/client";
import { defined } from "@devtool/internal/json";
import {
  AgentSettingsSchema,
  ApprovalMode,
  type SendMessageRequest,
  SessionSettingsSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";
import {
  type Approver,
  approveAll,
  approveByAsking,
  declineAll,
} from "./approval.ts";
import { approvalModeOf } from "./approval-mode.ts";
import type { ConversationOptions } from "./conversation.ts";
import { ExitCode } from "./exit-code.ts";
import { type Io, writeLine } from "./io.ts";
import { createQuestioner } from "./prompter.ts";
import { writeJsonLine } from "./render/json-line.ts";
import { indented, paintFor } from "./render/style.ts";
import { type Speakers, Transcript } from "./render/transcript.ts";
import { serverPath } from "./server-path.ts";
import { exitCodeFor } from "./task-exit-code.ts";
import type { Questioner } from "./terminal/questioner.ts";

/** How a command answers questions and prints events. */
export interface SessionOptions {
  /** `ask`, `never` or `all`. */
  readonly approve: string;
  /** Whether `all` also approves running commands without the sandbox. */
  readonly approveWithoutSandbox?: true;
  readonly json?: true;
}

/** A conversation with an exit code. */
export interface CommandConversation extends ConversationOptions {
  /**
   * Returns the exit code for the final task; not 0 if a call was declined
   * because nobody could be asked.
   */
  exitCode(task: Task): number;
}

/**
 * Creates a conversation from a command's options. `clientLabel` names the
 * command in the log.
 */
export function createConversation(
  client: DevtoolClient,
  {
    clientLabel,
    ...options
  }: SessionOptions & Pick<ConversationOptions, "clientLabel">,
  io: Io,
): CommandConversation {
  // With --json, standard output is for programs, so questions go to standard
  // error.
  const asking = options.json ? { ...io, stdout: io.stderr } : io;
  const { approve, exitCode } = createAnswering(
    options,
    asking,
    io.interactive ? createQuestioner(asking) : undefined,
  );
  return {
    client,
    approve,
    exitCode,
    onEvent: createPrinter(options, io),
    onOutdated: (problem) => writeLine(io.stderr, indented(problem)),
    nextId: randomUUID,
    clientLabel,
  };
}

/** How questions are answered, and the exit code that results. */
export interface Answering {
  readonly approve: Approver;
  exitCode(task: Pick<Task, "state">): number;
}

/**
 * Returns an approver for `--approve`. With nobody to ask it declines, and then
 * the exit code is not 0.
 */
export function createAnswering(
  {
    approve: approval,
    approveWithoutSandbox,
  }: Pick<SessionOptions, "approve" | "approveWithoutSandbox">,
  io: Io,
  questioner: Questioner | undefined,
): Answering {
  const exitCode = ({ state }: Pick<Task, "state">): number =>
    exitCodeFor(state);
  if (approval === "all") {
    return {
      approve: approveAll(io, approveWithoutSandbox ? "approve" : "decline"),
      exitCode,
    };
  }
  if (approval === "never") {
    return { approve: declineAll(io, "--approve never"), exitCode };
  }
  if (questioner) return { approve: approveByAsking(io, questioner), exitCode };
  let hasDeclined = false;
  const decline = declineAll(io, "nobody can be asked (see --approve)");
  return {
    approve: (asked, signal) => {
      hasDeclined = true;
      return decline(asked, signal);
    },
    exitCode: (task) =>
      hasDeclined && exitCode(task) === ExitCode.OK
        ? ExitCode.INPUT_REQUIRED
        : exitCode(task),
  };
}

/**
 * Returns a function that prints events as lines of JSON or as a transcript.
 */
export function createPrinter(
  { json }: Pick<SessionOptions, "json">,
  io: Io,
  speakers: Speakers = "agent",
): (event: TaskEvent) => void {
  if (json) return (event) => writeJsonLine(io.stdout, TaskEventSchema, event);
  const transcript = new Transcript(paintFor(io), speakers);
  return (event) => void io.stdout.write(transcript.add(event));
}

/**
 * The settings of a session that a command line gives. The server chooses those
 * that are missing.
 */
export interface NewSessionOptions {
  /** The directory that the agent works in. */
  readonly workspace?: string | undefined;
  readonly model?: string | undefined;
  /** The name of an approval mode. */
  readonly approvalMode?: string | undefined;
  /** The name of an agent, on a server with several. */
  readonly agent?: string | undefined;
}

/** The settings of a session in a request, those that are chosen. */
export type ChosenSettings = Pick<
  SendMessageRequest,
  "settings" | "sessionSettings"
>;

/**
 * Returns the settings of a new session. Throws for an approval mode that does
 * not exist.
 */
export function sessionSettings({
  workspace,
  model = "",
  approvalMode,
  agent = "",
}: NewSessionOptions): ChosenSettings {
  const mode = approvalModeOf(approvalMode);
  const isChosen =
    model !== "" || mode !== ApprovalMode.UNSPECIFIED || agent !== "";
  return defined({
    settings:
      workspace === undefined
        ? undefined
        : create(AgentSettingsSchema, { workspacePath: serverPath(workspace) }),
    sessionSettings: isChosen
      ? create(SessionSettingsSchema, { model, approvalMode: mode, agent })
      : undefined,
  });
}
