import { subscribeTask } from "@devtool/client";
import {
  CommandExecutionStatus,
  emptyTask,
  isInterrupted,
  isTerminal,
  reduceTask,
  type SlashCommand,
  type Task,
} from "@devtool/schema";
import { type ConnectionOptions, connect } from "../connection.ts";
import { answerAll, type ConversationOptions } from "../conversation.ts";
import { ExitCode, exitCodeOf } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { visible } from "../render/style.ts";
import { conversationOf, interruptSignal, type SessionOptions } from "../session.ts";

/** `devtool commands`: the slash commands of the server. */
export async function commands(options: ConnectionOptions, io: Io): Promise<number> {
  const client = await connect(options, io);
  const response = await client.commands.getAllSlashCommands({});
  for (const line of response.commands.flatMap((command) => linesOf(command, ""))) writeLine(io.stdout, line);
  return ExitCode.OK;
}

/** `devtool exec`: a slash command, followed to its end. */
export async function exec(
  words: readonly string[],
  options: ConnectionOptions & SessionOptions,
  io: Io,
): Promise<number> {
  const client = await connect(options, io);
  const { commandPath, args } = splitWords(words, (await client.commands.getAllSlashCommands({})).commands);
  const { result } = await client.commands.runSlashCommand({ command: { commandPath, args } });
  if (!result || result.status === CommandExecutionStatus.FAILED_TO_START) {
    writeLine(io.stderr, visible(result?.message ?? "the command did not start"));
    return ExitCode.FAILED;
  }
  using interrupt = interruptSignal(io);
  using conversation = conversationOf(client, options, io);
  const begun = await followToRest(result.executionId, conversation, interrupt.signal);
  const task = await answerAll(begun, conversation, interrupt.signal);
  return exitCodeOf(task.state);
}

/** Follows a task until it waits or has ended. */
async function followToRest(
  taskId: string,
  { client, onEvent }: ConversationOptions,
  signal: AbortSignal,
): Promise<Task> {
  let task = emptyTask();
  for await (const event of subscribeTask(client, { taskId }, signal)) {
    task = reduceTask(task, event);
    onEvent(event);
    if (isTerminal(task.state) || isInterrupted(task.state)) break;
  }
  return task;
}

/** Tells the words of a command from what is typed after them, by the commands there are. */
function splitWords(
  words: readonly string[],
  known: readonly SlashCommand[],
): { readonly commandPath: string[]; readonly args: string } {
  const [first = "", ...rest] = words;
  const all = [first.replace(/^\//, ""), ...rest];
  let level = known;
  let depth = 0;
  for (const word of all) {
    const found = level.find(({ name }) => name === word);
    if (!found) break;
    depth++;
    level = found.subCommands;
  }
  const length = Math.max(depth, 1);
  return { commandPath: all.slice(0, length), args: all.slice(length).join(" ") };
}

function linesOf(command: SlashCommand, prefix: string): string[] {
  const path = `${prefix}/${command.name}`.replace(/ \//, " ");
  const args = command.arguments.map(({ name, isRequired }) => (isRequired ? ` <${name}>` : ` [${name}]`)).join("");
  const own = `${visible(path + args).padEnd(28)} ${visible(command.description)}`;
  return [own, ...command.subCommands.flatMap((sub) => linesOf(sub, `${path} `))];
}
