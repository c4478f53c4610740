import {
  create,
  fromJson,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { defined } from "@devtool/internal/json";
import {
  CommandExecutionStatus,
  decodeRfcText,
  type SlashCommand,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { JsonRpcErrorSchema } from "@devtool/schema/a2a-v03";
import {
  ExecuteCommandRequestSchema,
  ExecuteCommandResponseSchema,
  encodeCommandList,
  settingsFromGeminiCli,
} from "@devtool/schema/gemini-cli";
import { eventsUntilRest } from "../../handler/request-handler.ts";
import { errorText, resultText } from "../a2a/json-rpc.ts";
import { jsonRpcErrorFrom } from "../a2a/json-rpc-errors.ts";
import { type Frame, streamFrames } from "../http/answer.ts";
import { readBody } from "../http/body.ts";
import { HttpFailure } from "../http/failure.ts";
import { send } from "../http/route.ts";
import { eventFrame } from "./frames.ts";
import type { Visit } from "./visit.ts";

type ExecuteCommandRequest = MessageShape<typeof ExecuteCommandRequestSchema>;

/** Answers `GET /listCommands`. */
export async function listCommands(visit: Visit): Promise<void> {
  const commands = await visit.handler.commands.getAllSlashCommands(
    {},
    visit.context,
  );
  send(visit.response, 200, {
    body: JSON.stringify(encodeCommandList(commands)),
  });
}

/**
 * Answers `POST /executeCommand`: with `{name, data}` once the command has
 * ended or asks something.
 *
 * A client that accepts a stream gets the updates of the command as they come;
 * so does every client of `init`. A question of the command is answered by a
 * message to the task that the response names.
 */
export async function executeCommand(visit: Visit): Promise<void> {
  const asked = decodeRfcText(
    ExecuteCommandRequestSchema,
    await readBody(visit.request, visit.maxRequestBytes),
  );
  if (asked.command === "") {
    throw new HttpFailure(
      "command: is missing: name one of GET /listCommands",
      400,
    );
  }
  // Every command is subscribed to, so the stream must fit the limit before the
  // command runs.
  using _stream = visit.handler.streams.enter(visit.context);
  const taskId = await startCommand(visit, asked);
  visit.geminiCli.note(taskId, visit.principal);
  const events = eventsUntilRest(visit.handler, visit, taskId);
  // Both branches are awaited: the stream counts until its last event is
  // written.
  if (asked.command === "init" || visit.takesStream) {
    await streamUpdates(visit, taskId, events);
  } else {
    await sendOutcome(visit, asked.command, taskId, events);
  }
}

/**
 * Starts a command, and returns the id of its task.
 *
 * Throws a 404 for an unknown command, and a 400 for one that did not start.
 */
async function startCommand(
  { handler, context }: Visit,
  { command, args, contextId, agentSettings }: ExecuteCommandRequest,
): Promise<string> {
  const { settings, sessionSettings } = agentSettings
    ? settingsFromGeminiCli(agentSettings)
    : {};
  const commandPath = command.split(" ").filter((word) => word !== "");
  const { result } = await handler.commands.runSlashCommand(
    defined({
      command: { commandPath, args: args.join(" ") },
      contextId,
      settings,
      sessionSettings,
    }),
    context,
  );
  if (result && result.status !== CommandExecutionStatus.FAILED_TO_START) {
    return result.executionId;
  }
  const { commands } = await handler.commands.getAllSlashCommands(
    defined({ contextId, settings }),
    context,
  );
  const message = result?.message ?? "the command did not start";
  throw new HttpFailure(message, isListed(commandPath, commands) ? 400 : 404);
}

/** Whether a list of commands contains the command with some path. */
function isListed(
  [word, ...rest]: readonly string[],
  commands: readonly SlashCommand[],
): boolean {
  if (word === undefined) return true;
  const command = commands.find(({ name }) => name === word);
  return command !== undefined && isListed(rest, command.subCommands);
}

async function streamUpdates(
  visit: Visit,
  taskId: string,
  events: AsyncIterable<TaskEvent>,
): Promise<void> {
  const id = JSON.stringify(taskId);
  const frames = async function* (): AsyncIterable<Frame> {
    for await (const event of events) {
      const frame = eventFrame(event, event.taskId);
      if (frame) yield frame;
    }
  };
  await streamFrames(visit.response, frames(), () => ({}), {
    endpoint: visit,
    wrap: (result) => resultText(id, result),
    error: (reason) =>
      errorText(id, toJson(JsonRpcErrorSchema, jsonRpcErrorFrom(reason))),
  });
}

/**
 * Waits for the end of a command, and sends its output as a single response.
 */
async function sendOutcome(
  visit: Visit,
  name: string,
  taskId: string,
  events: AsyncIterable<TaskEvent>,
): Promise<void> {
  let text = "";
  let state = TaskState.WORKING;
  for await (const { payload, ...event } of events) {
    if (payload.case === "text") text += payload.value.text;
    if (payload.case === "stateChange") text += payload.value.error;
    state = event.state;
  }
  if (state === TaskState.FAILED) throw new HttpFailure(text, 500);
  const question =
    state === TaskState.INPUT_REQUIRED
      ? "The command waits for your approval."
      : "";
  const data = fromJson(ValueSchema, text || question);
  const outcome = create(ExecuteCommandResponseSchema, { name, data, taskId });
  send(visit.response, 200, {
    body: JSON.stringify(toJson(ExecuteCommandResponseSchema, outcome)),
  });
}
