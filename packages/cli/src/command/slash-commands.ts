import { CommandExecutionStatus, type SlashCommand } from "@devtool/schema";
import { type ConnectionOptions, connect } from "../connection.ts";
import { answerAll, followToRest } from "../conversation.ts";
import { ExitCode, exitCodeOf } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { visible } from "../render/style.ts";
import { conversationOf, interruptSignal, type SessionOptions } from "../session.ts";
import { readSlashLine } from "../slash-line.ts";

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
  const known = (await client.commands.getAllSlashCommands({})).commands;
  const { result } = await client.commands.runSlashCommand({ command: readSlashLine(words.join(" "), known) });
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

function linesOf(command: SlashCommand, prefix: string): string[] {
  const path = `${prefix}/${command.name}`.replace(/ \//, " ");
  const args = command.arguments.map(({ name, isRequired }) => (isRequired ? ` <${name}>` : ` [${name}]`)).join("");
  const own = `${visible(path + args).padEnd(28)} ${visible(command.description)}`;
  return [own, ...command.subCommands.flatMap((sub) => linesOf(sub, `${path} `))];
}
