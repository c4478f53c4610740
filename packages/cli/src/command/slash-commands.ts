import { oneLine } from "@devtool/internal/visible-text";
import {
  CommandExecutionStatus,
  type SlashCommand,
  ToolCallStatus,
  toolCallsOf,
} from "@devtool/schema";
import { type ConnectionOptions, connect } from "../connection/connection.ts";
import { answerAll, followToRest } from "../conversation.ts";
import { ExitCode } from "../exit-code.ts";
import { cancelInterrupted } from "../interrupted-task.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { indented, visibleName } from "../render/style.ts";
import {
  createConversation,
  type NewSessionOptions,
  type SessionOptions,
  sessionSettings,
} from "../session.ts";
import { readSlashLine } from "../slash-line.ts";
import { findTaskId, shortTaskId } from "../task-id.ts";

/** The agent and the directory of a slash command. Default: the server's. */
type Place = Pick<NewSessionOptions, "agent" | "workspace">;

/** `devtool commands`: lists the slash commands of an agent. */
export async function commands(
  options: ConnectionOptions & Place,
  io: Io,
): Promise<number> {
  const client = await connect(options, io);
  const response = await client.commands.getAllSlashCommands(
    sessionSettings(options),
  );
  if (response.commands.length === 0) {
    writeLine(io.stderr, "the agent has no slash commands");
  }
  for (const line of response.commands.flatMap((command) =>
    usageLines(command, ""),
  )) {
    writeLine(io.stdout, line);
  }
  return ExitCode.OK;
}

/** `devtool exec`: runs a slash command and follows it to its end. */
export async function exec(
  words: readonly string[],
  options: ConnectionOptions & SessionOptions & Place & { task?: string },
  io: Io,
): Promise<number> {
  const client = await connect(options, io);
  using interrupt = interruptSignal(io);
  const place = sessionSettings(options);
  const about =
    options.task === undefined
      ? undefined
      : await client.tasks.getTask({
          taskId: await findTaskId(client, options.task, interrupt.signal),
        });
  const known = (await client.commands.getAllSlashCommands(place)).commands;
  const { result } = await client.commands.runSlashCommand({
    command: readSlashLine(words.join(" "), known),
    contextId: about?.task?.contextId ?? "",
    ...place,
  });
  if (!result || result.status === CommandExecutionStatus.FAILED_TO_START) {
    writeLine(
      io.stderr,
      indented(result?.message ?? "the command did not start"),
    );
    return ExitCode.FAILED;
  }
  const conversation = createConversation(
    client,
    { ...options, clientLabel: "devtool exec" },
    io,
  );
  const taskId = result.executionId;
  try {
    const begun = await followToRest(taskId, conversation, interrupt.signal);
    const task = await answerAll(begun, conversation, interrupt.signal);
    const code = conversation.exitCode(task);
    // The task of a command completes even if its last tool call failed, since
    // an agent can continue from there.
    const last = task.history.flatMap(toolCallsOf).at(-1);
    return code === ExitCode.OK && last?.status === ToolCallStatus.FAILED
      ? ExitCode.FAILED
      : code;
  } catch (reason) {
    if (!interrupt.signal.aborted) throw reason;
    const next = `devtool watch ${oneLine(shortTaskId(taskId))} shows what it did`;
    await cancelInterrupted(client, taskId, next, io);
    return ExitCode.CANCELED;
  }
}

function usageLines(command: SlashCommand, prefix: string): string[] {
  const path = `${prefix}/${command.name}`.replace(/ \//, " ");
  const args = command.arguments
    .map(({ name, isRequired }) => (isRequired ? ` <${name}>` : ` [${name}]`))
    .join("");
  const own = `${visibleName(path + args).padEnd(28)} ${oneLine(command.description)}`;
  return [
    own,
    ...command.subCommands.flatMap((sub) => usageLines(sub, `${path} `)),
  ];
}
