import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  fromJson,
  fromJsonString,
  type JsonValue,
  toJson,
  toJsonString,
} from "@bufbuild/protobuf";
import {
  emptyTask,
  MessageSchema,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
} from "@devtool/schema";
import { commandDigests, withDigests } from "./command-digests.ts";

/** Where histories are kept. */
export const DIRECTORY = new URL("kept/", import.meta.url);

/** The placeholder for the workspace in a recorded history. */
const PLACEHOLDER = "/workspace";

/** The log of a task as some version wrote it, and the task that it made. */
export interface History {
  readonly name: string;
  readonly events: readonly TaskEvent[];
  readonly task: Task;
}

/**
 * The texts in which a history is kept: an event a line; the task, then a
 * message of it a line.
 */
export interface HistoryFiles {
  readonly log: string;
  readonly task: string;
}

/** The names of all histories that are kept. */
export function historyNames(): string[] {
  const suffix = ".task.jsonl";
  const files = readdirSync(fileURLToPath(DIRECTORY)).filter((file) =>
    file.endsWith(suffix),
  );
  return files.map((file) => file.slice(0, -suffix.length)).sort();
}

/**
 * Reads the log of a history as it is kept. Throws when this version cannot
 * read it.
 */
export async function readKept(name: string): Promise<TaskEvent[]> {
  return eventsIn(await readText(`${name}.jsonl`));
}

/**
 * Reads a history that is kept, as if it had happened in `workspace`. Throws
 * when this version cannot read it.
 */
export async function readHistory(
  name: string,
  workspace: string,
): Promise<History> {
  const move = (text: string): string =>
    text.replaceAll(PLACEHOLDER, workspace);
  const digests = commandDigests(await readKept(name), move);
  const read = async (file: string): Promise<string> =>
    move(withDigests(await readText(file), digests));
  const events = eventsIn(await read(`${name}.jsonl`));
  const task = taskIn(await read(`${name}.task.jsonl`));
  // Versions before titles wrote none: it follows from the log.
  return {
    name,
    events,
    task: { ...task, title: task.title || foldOf(events).title },
  };
}

/** Writes a history that happened in `workspace` as it is kept. */
export function historyFiles(
  { events, task }: Omit<History, "name">,
  workspace: string,
): HistoryFiles {
  const move = (text: string): string =>
    text.replaceAll(workspace, PLACEHOLDER);
  const digests = commandDigests(events, move);
  const keep = (lines: readonly string[]): string =>
    move(withDigests(`${lines.join("\n")}\n`, digests));
  return {
    log: keep(events.map((event) => toJsonString(TaskEventSchema, event))),
    task: keep([
      toJsonString(TaskSchema, { ...task, history: [] }),
      ...task.history.map((message) => toJsonString(MessageSchema, message)),
    ]),
  };
}

function readText(file: string): Promise<string> {
  return readFile(new URL(file, DIRECTORY), "utf8");
}

function taskIn(text: string): Task {
  const [task, ...history] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return fromJson(TaskSchema, { ...task, history });
}

function eventsIn(log: string): TaskEvent[] {
  const lines = log.trimEnd().split("\n");
  return lines.map((line) => fromJsonString(TaskEventSchema, line));
}

/** The task that events make. */
export function foldOf(events: Iterable<TaskEvent>): Task {
  let task = emptyTask();
  for (const event of events) task = reduceTask(task, event);
  return task;
}

/** A task as plain data, for a comparison that can be read. */
export function plainTask(task: Task): JsonValue {
  return toJson(TaskSchema, task);
}

/** Events as plain data, for a comparison that can be read. */
export function plainEvents(events: readonly TaskEvent[]): JsonValue[] {
  return events.map((event) => toJson(TaskEventSchema, event));
}
