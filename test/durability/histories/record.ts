import type { DevtoolClient } from "@devtool/client";
import { endsExchange, type TaskEvent } from "@devtool/schema";
import { Conversation } from "../../scenarios/conversation.ts";
import { clientOf, Ground } from "../../scenarios/ground.ts";
import { foldOf, type HistoryFiles, historyFiles } from "./history.ts";
import type { HistoryScenario } from "./scenarios.ts";

/**
 * Plays a scenario against this version, and gives its history as it is kept.
 */
export async function recordHistory({
  files,
  options,
  gemini,
  first,
  play,
}: HistoryScenario): Promise<HistoryFiles> {
  await using ground = await Ground.prepare(files);
  await using server = await ground.serve(options, gemini);
  const client = clientOf(server, "Connect");
  await play(new Conversation(client, first), client);
  const { tasks } = await client.tasks.listTasks({ pageSize: 1 });
  const events = await readLog(client, tasks[0]?.id ?? "");
  return historyFiles({ events, task: foldOf(events) }, ground.workspace);
}

/** Reads the log of a task that rests, or soon will. */
async function readLog(
  client: DevtoolClient,
  taskId: string,
): Promise<TaskEvent[]> {
  const events: TaskEvent[] = [];
  for await (const { event } of client.tasks.subscribeTask({ taskId })) {
    if (event) events.push(event);
    if (
      event &&
      endsExchange(event) &&
      event.sequence === (await sequenceOf(client, taskId))
    ) {
      break;
    }
  }
  return events;
}

async function sequenceOf(
  client: DevtoolClient,
  taskId: string,
): Promise<bigint | undefined> {
  return (await client.tasks.getTask({ taskId })).task?.sequence;
}
