import { timestampDate } from "@bufbuild/protobuf/wkt";
import { TaskState, type TaskSummary, TaskSummarySchema } from "@devtool/schema";
import { type ConnectionOptions, connect } from "../connection.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { writeJsonLine } from "../render/json-line.ts";
import { visible } from "../render/style.ts";

/** `devtool tasks`: lists tasks, newest first. */
export async function tasks(options: ConnectionOptions & { readonly json?: true }, io: Io): Promise<number> {
  const client = await connect(options, io);
  let pageToken = "";
  do {
    const page = await client.tasks.listTasks({ pageToken });
    for (const task of page.tasks) {
      if (options.json) writeJsonLine(io.stdout, TaskSummarySchema, task);
      else writeLine(io.stdout, taskLine(task));
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return ExitCode.OK;
}

/** `devtool cancel`: cancels a task and ends everything that it started. */
export async function cancel(taskId: string, options: ConnectionOptions, io: Io): Promise<number> {
  const client = await connect(options, io);
  await client.tasks.cancelTask({ taskId });
  writeLine(io.stdout, `canceled ${taskId}`);
  return ExitCode.OK;
}

function taskLine({ id, lastEvent }: TaskSummary): string {
  const state = TaskState[lastEvent?.state ?? TaskState.UNSPECIFIED].toLowerCase().replaceAll("_", "-");
  const time = lastEvent?.time ? timestampDate(lastEvent.time).toISOString() : "";
  return `${visible(id)}  ${state.padEnd(14)}  ${time}`;
}
