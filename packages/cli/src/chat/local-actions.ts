import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { DevtoolClient, TaskSnapshot } from "@devtool/client";
import { oneLine, visibleText } from "@devtool/internal/visible-text";
import { Role, stricterMode } from "@devtool/schema";
import {
  APPROVAL_MODES,
  approvalModeName,
  approvalModeOf,
} from "../approval-mode.ts";
import { errorCode } from "../errors.ts";
import { countOf } from "../render/count.ts";
import { modelLines } from "../render/model-lines.ts";
import { findTaskId, shortTaskId } from "../task-id.ts";
import { numberedMessage, userMessages } from "../user-messages.ts";
import type { Chat } from "./chat.ts";
import { commandRefusal, helpLines, type LocalLine } from "./local-command.ts";
import { MessagePicker } from "./message-picker.ts";
import { SessionPicker } from "./session-picker.ts";

/** Dependencies of the commands of the terminal. */
interface LocalActions {
  readonly client: DevtoolClient;
  /** The directory whose conversations are listed. Empty: all. */
  readonly workspace: string;
  readonly write: (sequence: string) => void;
  readonly clearScreen: () => void;
  readonly onChange: () => void;
}

/**
 * Runs a command of the terminal. Throws an error with the reason if that
 * fails.
 */
export async function runLocal(
  chat: Chat,
  { name, argument }: LocalLine,
  actions: LocalActions,
): Promise<void> {
  const { tasks } = chat;
  const refusal = commandRefusal(name, tasks.choices);
  if (refusal !== "") return chat.printout.tell(refusal);
  switch (name) {
    case "model":
      if (argument === "") return listModels(chat);
      tasks.choices.model = argument;
      return chat.printout.tell(`model: ${argument}`);
    case "mode":
      if (argument !== "") {
        tasks.choices.chooseMode(approvalModeOf(argument.replace("_", "-")));
      }
      return chat.printout.tell(
        `mode: ${approvalModeName(tasks.choices.modeNow)}`,
      );
    case "new":
      return begin(chat);
    case "clear":
      actions.clearScreen();
      return begin(chat);
    case "sessions":
      return pickSession(chat, actions);
    case "resume":
      if (argument === "") return pickSession(chat, actions);
      return chat.open(await findTaskId(actions.client, argument, NEVER));
    case "rewind":
      return pickMessage(chat, argument, actions);
    case "copy":
      return copyAnswer(chat, actions.write);
    case "export":
      return exportTo(chat, argument);
    case "help":
      return chat.printout.tellLines(helpLines(tasks.commands, tasks.choices));
    case "quit":
    case "exit":
      return chat.leave();
    default:
      return name satisfies never;
  }
}

/** Changes to the next mode that the operator and the conversation allow. */
export function nextMode({ tasks: { choices }, printout }: Chat): void {
  const refusal = choices.refusalOf("approval_mode");
  const { limit, modeNow } = choices;
  const allowed = [...APPROVAL_MODES.values()].filter(
    (mode) => stricterMode(limit, mode) === mode,
  );
  const next = allowed[(allowed.indexOf(modeNow) + 1) % allowed.length];
  if (refusal !== "") {
    printout.tell(refusal);
  } else if (next !== undefined) {
    choices.chooseMode(next);
  }
}

/** Prints the model of the next messages, and the models to choose from. */
async function listModels({ tasks, printout }: Chat): Promise<void> {
  const now =
    tasks.choices.model || tasks.conversation.view.snapshot().task.model;
  printout.tell(`model: ${now || "the server's"}`);
  const models = await tasks.listModels(AbortSignal.timeout(MODELS_TIMEOUT_MS));
  if (models.length === 0) {
    return printout.tell(
      "the agent lists no models: choose one by its name, as /model NAME",
    );
  }
  const shown = models.slice(0, MAX_MODELS);
  const lines = modelLines(shown).map(
    (line, at) => `${shown[at]?.name === now ? "❯" : " "} ${line}`,
  );
  const rest = models.length - lines.length;
  printout.tellLines(
    rest > 0
      ? [...lines, `  … ${rest} more: Tab completes their names`]
      : lines,
  );
}

function begin(chat: Chat): void {
  chat.open(undefined);
  chat.printout.tell("a new conversation");
}

function pickSession(
  chat: Chat,
  { client, workspace, onChange }: LocalActions,
): void {
  const onChosen = (taskId: string | undefined): void => {
    chat.picker = undefined;
    if (taskId !== undefined) chat.open(taskId);
    onChange();
  };
  chat.picker = new SessionPicker({
    client,
    workspace,
    onChange,
    onProblem: (reason) => chat.printout.tellProblem(reason),
    onChosen,
  });
  onChange();
}

/**
 * Goes on from before a message, in a new conversation: the one with the number
 * `argument`, or one that the user chooses from a list.
 */
async function pickMessage(
  chat: Chat,
  argument: string,
  { client, onChange }: LocalActions,
): Promise<void> {
  const { tasks } = chat;
  const { id } = tasks.conversation.view.snapshot().task;
  const known = id || (tasks.fork?.taskId ?? "");
  const messages = known === "" ? [] : await userMessages(client, known, NEVER);
  if (messages.length === 0) {
    return chat.printout.tell("there is no message to go back to yet");
  }
  if (argument !== "") {
    const asked = `/rewind ${argument}`;
    return chat.rewind(numberedMessage(messages, argument, asked));
  }
  chat.picker = new MessagePicker(messages, (message) => {
    chat.picker = undefined;
    if (message) chat.rewind(message);
  });
  onChange();
}

/** Copies what the agent said last to the clipboard of the terminal. */
function copyAnswer(
  { tasks, printout }: Chat,
  write: LocalActions["write"],
): void {
  const { items } = tasks.conversation.view.snapshot();
  const last = items.findLast(
    ({ role, part }) => role === Role.AGENT && part.content.case === "text",
  )?.part.content;
  const text = last?.case === "text" ? last.value : "";
  if (text === "") {
    printout.tell("there is no answer to copy yet");
    return;
  }
  // OSC 52 asks the terminal to copy to the clipboard.
  write(`\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`);
  printout.tell(
    `copied ${countOf(text.length, "character")}, if the terminal allows it (OSC 52)`,
  );
}

/**
 * Writes the conversation to a new file that only its owner may read. Throws
 * when there is a file of that name.
 */
async function exportTo(chat: Chat, argument: string): Promise<void> {
  const snapshot = chat.tasks.conversation.view.snapshot();
  if (snapshot.items.length === 0) {
    return chat.printout.tell("there is nothing to export yet");
  }
  const path = resolve(
    argument || `devtool-${shortTaskId(snapshot.task.id)}.md`,
  );
  await writeFile(path, markdownOf(snapshot), {
    flag: "wx",
    mode: 0o600,
  }).catch((reason: unknown) => {
    if (errorCode(reason) !== "EEXIST") throw reason;
    throw new Error(`"${path}" exists: name another file, as /export FILE`);
  });
  chat.printout.tell(`exported to ${path}`);
}

/** Returns a conversation as Markdown. */
function markdownOf({ items, task }: TaskSnapshot): string {
  const sections = items.flatMap(({ part, role }) => {
    const { content } = part;
    switch (content.case) {
      case "text":
        return [
          `## ${role === Role.USER ? "You" : "Agent"}\n\n${visibleText(content.value)}`,
        ];
      case "toolCall":
        return [
          `- ${oneLine(content.value.toolName)} ${oneLine(content.value.description ?? "")}`.trimEnd(),
        ];
      default:
        return [];
    }
  });
  return `# ${oneLine(task.title) || "Conversation"}\n\n${sections.join("\n\n")}\n`;
}

/** Maximum number of models that are shown. */
const MAX_MODELS = 30;

/** Time in milliseconds within which the server must list the models. */
const MODELS_TIMEOUT_MS = 30_000;

const NEVER: AbortSignal = new AbortController().signal;
