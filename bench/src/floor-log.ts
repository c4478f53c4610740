import { hash } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  create,
  type MessageInitShape,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import {
  AuditAction,
  AuditRecordSchema,
  Role,
  TaskEventSchema,
  TaskState,
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStage,
  ToolCallStatus,
} from "@devtool/schema";
import type { FunctionCall } from "@google/genai";
import { EXTENSION } from "./client.ts";

/** A task whose events are logged. */
export interface FloorTask {
  readonly id: string;
  /** The sequence of its last event. */
  sequence: bigint;
  /** What the next commit takes along. */
  readonly waiting: Entry[];
}

type Entry = Omit<MessageInitShape<typeof TaskEventSchema>, "$typeName">;

const TABLES = `
  PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE task (id TEXT PRIMARY KEY, state INTEGER, sequence INTEGER) STRICT, WITHOUT ROWID;
  CREATE TABLE message (id TEXT PRIMARY KEY, task_id TEXT) STRICT, WITHOUT ROWID;
  CREATE TABLE event (task_id TEXT, sequence INTEGER, data BLOB, PRIMARY KEY (task_id, sequence)) STRICT;
  CREATE TABLE audit (number INTEGER PRIMARY KEY, data BLOB) STRICT;
`;

/**
 * What a durable agent must do for a turn, with libraries alone: each event is
 * a protobuf message, synced by SQLite before its frame is sent, and what
 * became of each call is a record of a chain of hashes. A turn has the commits
 * that ours has where the model answers at once: its message with the calls,
 * before they run; their results; what it says at last. It has no policy, no settings, no
 * history of its own, no operator's log, and serves one reader of one protocol.
 */
export class FloorLog {
  readonly #directory: string;
  readonly #statements;
  #audited = 0n;
  #lastHash: Uint8Array = new Uint8Array();
  #lastId = 0;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(`${directory}-data`);
    const database = new DatabaseSync(`${directory}-data/tasks.sqlite`);
    database.exec(TABLES);
    this.#statements = {
      begin: database.prepare("BEGIN IMMEDIATE"),
      commit: database.prepare("COMMIT"),
      event: database.prepare("INSERT INTO event VALUES (?, ?, ?)"),
      audit: database.prepare("INSERT INTO audit VALUES (?, ?)"),
      message: database.prepare("INSERT INTO message VALUES (?, ?)"),
      task: database.prepare("INSERT OR REPLACE INTO task VALUES (?, ?, ?)"),
    };
    process.on("exit", () => database.close());
  }

  /** Records a message of the user, in the commit of what the model answers. */
  message({ waiting }: FloorTask, text: string): void {
    const messageId = `m${++this.#lastId}`;
    const parts = [{ content: { case: "text" as const, value: text } }];
    const value = { messageId, role: Role.USER, parts };
    waiting.push({ payload: { case: "message", value } });
  }

  /** Runs calls that read a file; gives frames, and returns the results. */
  *run(
    task: FloorTask,
    calls: readonly FunctionCall[],
  ): Generator<string, readonly string[]> {
    const ids = calls.map(() => `call${++this.#lastId}`);
    const entry = (
      index: number,
      status: ToolCallStatus,
      stage: ToolCallStage,
      output?: string,
    ): Entry => {
      const { name: toolName = "", args: inputParameters = {} } =
        calls[index] ?? {};
      const digest = hash("sha256", JSON.stringify(inputParameters), "buffer");
      const call = {
        toolCallId: ids[index] ?? "",
        status,
        toolName,
        description: `Read ${inputParameters.file_path}`,
        inputParameters: JSON.parse(JSON.stringify(inputParameters)),
        ...(output !== undefined && {
          result: {
            case: "output" as const,
            value: { result: { case: "text" as const, value: output } },
          },
        }),
      };
      return {
        payload: { case: "toolCall", value: call },
        toolCallDetail: { stage, digest },
      };
    };
    yield this.#append(task, [
      { payload: { case: "usage", value: { inputTokens: 1n } } },
      ...calls.map((_call, index) =>
        entry(index, ToolCallStatus.PENDING, ToolCallStage.SCHEDULED),
      ),
      ...calls.map((_call, index) =>
        entry(index, ToolCallStatus.EXECUTING, ToolCallStage.EXECUTING),
      ),
    ]);
    const outputs = calls.map(({ args }) =>
      this.#read(String(args?.file_path)),
    );
    yield this.#append(
      task,
      outputs.map((output, index) =>
        entry(index, ToolCallStatus.SUCCEEDED, ToolCallStage.SUCCEEDED, output),
      ),
    );
    return outputs;
  }

  /** Records what was said at last, and that the turn has ended. */
  end(task: FloorTask, text: string): string {
    return this.#append(task, [
      { payload: { case: "text", value: { text } } },
      { payload: { case: "usage", value: { inputTokens: 1n } } },
      {
        state: TaskState.COMPLETED,
        payload: { case: "stateChange", value: {} },
      },
    ]);
  }

  /** Syncs events to the disk in one commit; gives their frames. */
  #append(task: FloorTask, entries: readonly Entry[]): string {
    const time = timestampNow();
    const events = [...task.waiting.splice(0), ...entries].map((entry) =>
      create(TaskEventSchema, {
        sequence: ++task.sequence,
        taskId: task.id,
        contextId: "c",
        time,
        state: TaskState.WORKING,
        model: "gemini-2.5-pro",
        extensionActive: true,
        ...entry,
      }),
    );
    const { begin, commit, event: put, message, task: last } = this.#statements;
    begin.run();
    for (const event of events) {
      put.run(task.id, event.sequence, toBinary(TaskEventSchema, event));
      if (event.payload.case === "message") {
        message.run(event.payload.value.messageId, task.id);
      }
      for (const action of actionsOf(event)) this.#audit(event, action);
    }
    last.run(task.id, TaskState.WORKING, task.sequence);
    commit.run();
    return events.map(frameOf).join("");
  }

  #audit(
    { taskId, sequence, time, payload }: Event,
    action: AuditAction,
  ): void {
    if (payload.case !== "toolCall") return;
    const { toolCallId, toolName, inputParameters } = payload.value;
    const record = create(AuditRecordSchema, {
      number: ++this.#audited,
      ...(time && { time }),
      principal: "local",
      taskId,
      sequence,
      toolCallId,
      toolName,
      action,
      shown: JSON.stringify(inputParameters),
      previousHash: this.#lastHash,
    });
    record.hash = hash("sha256", toBinary(AuditRecordSchema, record), "buffer");
    this.#lastHash = record.hash;
    const data = toBinary(AuditRecordSchema, record);
    this.#statements.audit.run(this.#audited, data);
  }

  #read(path: string): string {
    const { O_RDONLY, O_NOFOLLOW } = constants;
    const file = openSync(join(this.#directory, path), O_RDONLY | O_NOFOLLOW);
    try {
      const buffer = Buffer.allocUnsafe(fstatSync(file).size);
      return buffer.toString("utf8", 0, readSync(file, buffer));
    } finally {
      closeSync(file);
    }
  }
}

type Event = ReturnType<typeof create<typeof TaskEventSchema>>;

/** What is audited of an event of a call. */
function actionsOf({ toolCallDetail }: Event): readonly AuditAction[] {
  switch (toolCallDetail?.stage) {
    case ToolCallStage.SCHEDULED:
      return [AuditAction.ALLOWED];
    case ToolCallStage.EXECUTING:
      return [AuditAction.STARTED];
    case ToolCallStage.SUCCEEDED:
      return [AuditAction.SUCCEEDED];
    default:
      return [];
  }
}

const LOG_EXTENSION = "https://devtool.dev/a2a/task-event/v1alpha";

/** An event in the frame of A2A 0.3, with as many bytes as ours. */
function frameOf(event: Event): string {
  const { sequence, taskId, contextId, payload, toolCallDetail } = event;
  const detail = toolCallDetail && {
    toolCallDetail: toJson(ToolCallDetailSchema, toolCallDetail),
  };
  const part = partOf(payload);
  const message = part && {
    kind: "message",
    messageId: `${taskId}:${sequence}`,
    role: "agent",
    parts: [part],
    taskId,
    contextId,
  };
  const frame = {
    jsonrpc: "2.0",
    id: 1,
    result: {
      kind: "status-update",
      taskId,
      contextId,
      status: {
        state: "working",
        ...(message && { message }),
        timestamp: new Date().toISOString(),
      },
      final: event.state === TaskState.COMPLETED,
      metadata: {
        [EXTENSION]: { kind: "TOOL_CALL_UPDATE", model: event.model },
        ...(detail && { [LOG_EXTENSION]: detail }),
      },
    },
  };
  return `id: ${sequence}\ndata: ${JSON.stringify(frame)}\n\n`;
}

function partOf(payload: Event["payload"]): object | undefined {
  switch (payload.case) {
    case "toolCall":
      return { kind: "data", data: toJson(ToolCallSchema, payload.value) };
    case "text":
      return { kind: "text", text: payload.value.text };
    default:
      return undefined;
  }
}
