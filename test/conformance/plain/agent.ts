import type { JsonObject } from "@bufbuild/protobuf";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";

/** An error of A2A, by its code in JSON-RPC. */
export class A2aError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** A task, in the names of A2A 1.0. */
export interface PlainTask {
  readonly id: string;
  readonly contextId: string;
  readonly order: number;
  readonly history: JsonObject[];
  readonly artifacts: JsonObject[];
  state: string;
  timestamp: string;
  /** Receive the frames of the task, and undefined at their end. */
  readonly listeners: Set<(frame: JsonObject | undefined) => void>;
}

/** The states in which a stream of a task ends. */
const RESTING: readonly string[] = [
  "COMPLETED",
  "CANCELED",
  "FAILED",
  "INPUT_REQUIRED",
];

/**
 * A small agent without an SDK. Its messages say what it does: `say`, `ask`,
 * `long` or `while`. Each of its methods can be replaced by a fault.
 */
export class PlainAgent {
  readonly tasks = new Map<string, PlainTask>();
  readonly configs = new Map<string, JsonObject[]>();
  /** Whether it offers neither streams nor notifications nor a second card. */
  readonly isBare: boolean;

  constructor(isBare: boolean) {
    this.isBare = isBare;
  }

  #lastMs = 0;

  /** The time, which no two changes share. */
  now(): string {
    this.#lastMs = Math.max(Date.now(), this.#lastMs + 1);
    return new Date(this.#lastMs).toISOString();
  }

  /** Starts or continues a task. */
  accept(message: JsonObject): PlainTask {
    const { taskId, contextId } = message;
    if (taskId === undefined) {
      const task = this.create(this.contextFor(contextId));
      task.history.push(message);
      return task;
    }
    const task = this.find(taskId);
    if (contextId !== undefined && contextId !== task.contextId) {
      throw new A2aError(-32602, "the context is not that of the task");
    }
    if (task.state !== "INPUT_REQUIRED") this.refuseEnded();
    task.history.push(message);
    task.state = "WORKING";
    return task;
  }

  contextFor(contextId: unknown): string {
    return typeof contextId === "string" ? contextId : crypto.randomUUID();
  }

  refuseEnded(): void {
    throw new A2aError(-32004, "the task has ended");
  }

  create(contextId: string): PlainTask {
    const task: PlainTask = {
      id: crypto.randomUUID(),
      contextId,
      order: this.tasks.size,
      history: [],
      artifacts: [],
      state: "WORKING",
      timestamp: this.now(),
      listeners: new Set(),
    };
    this.tasks.set(task.id, task);
    return task;
  }

  find(id: unknown): PlainTask {
    if (typeof id !== "string") throw new A2aError(-32602, "no id");
    const task = this.tasks.get(id);
    if (!task) throw new A2aError(-32001, `no task ${id}`);
    return task;
  }

  /** Does what the last message of a task says. */
  work(task: PlainTask): void {
    const [part] = listOrEmpty(task.history.at(-1)?.parts);
    const { text } = objectOrEmpty(part);
    if (text === "long" || text === "while") return;
    if (text === "ask") {
      this.emit(task, [this.change(task, "INPUT_REQUIRED")]);
    } else {
      this.complete(task);
    }
  }

  /** Ends a task that works until somebody subscribes to it. */
  resume(task: PlainTask): void {
    const [part] = listOrEmpty(task.history.at(-1)?.parts);
    if (objectOrEmpty(part).text === "while") this.complete(task);
  }

  complete(task: PlainTask): void {
    const artifact = { artifactId: "answer", parts: [{ text: "Hello." }] };
    task.artifacts.push(artifact);
    const { id: taskId, contextId } = task;
    this.emit(task, [
      { artifactUpdate: { taskId, contextId, artifact } },
      this.change(task, "COMPLETED"),
    ]);
  }

  /** Changes the state of a task. Returns the frame that says so. */
  change(task: PlainTask, state: string): JsonObject {
    task.state = state;
    task.timestamp = this.now();
    const { id: taskId, contextId } = task;
    return { statusUpdate: { taskId, contextId, status: this.status(task) } };
  }

  status({ state, timestamp }: PlainTask): JsonObject {
    return { state: `TASK_STATE_${state}`, timestamp };
  }

  /** Sends frames to those who listen, and ends their streams. */
  emit(task: PlainTask, frames: readonly JsonObject[]): void {
    for (const listener of [...task.listeners]) {
      for (const frame of this.frames(frames, task)) listener(frame);
      if (RESTING.includes(task.state)) listener(undefined);
    }
  }

  /** What is sent of the frames of a task. */
  frames(
    frames: readonly JsonObject[],
    _task: PlainTask,
  ): readonly JsonObject[] {
    return frames;
  }

  async wait(task: PlainTask): Promise<void> {
    while (task.state === "WORKING") {
      await new Promise<void>((resolve) => {
        const listener = (): void => {
          task.listeners.delete(listener);
          resolve();
        };
        task.listeners.add(listener);
      });
    }
  }

  cancel(id: unknown): PlainTask {
    const task = this.find(id);
    if (task.state !== "WORKING" && task.state !== "INPUT_REQUIRED") {
      throw new A2aError(-32002, "the task has ended");
    }
    this.emit(task, [this.change(task, "CANCELED")]);
    return task;
  }

  /** A task as it is written, with at most so many messages. */
  write(task: PlainTask, historyLength: unknown): JsonObject {
    const { id, contextId, artifacts, history } = task;
    return {
      id,
      contextId,
      status: this.status(task),
      artifacts: [...artifacts],
      history: this.recent(history, historyLength),
    };
  }

  recent(history: readonly JsonObject[], length: unknown): JsonObject[] {
    if (length === undefined) return [...history];
    return Number(length) === 0 ? [] : history.slice(-Number(length));
  }

  list(params: JsonObject): JsonObject {
    const { pageSize = 50, pageToken = "", historyLength } = params;
    const start = this.startOf(stringOrEmpty(pageToken));
    const size = this.sizeOf(Number(pageSize));
    const all = this.sorted([...this.tasks.values()]).filter((task) =>
      this.isListed(task, params),
    );
    const end = start + size;
    return {
      tasks: all
        .slice(start, end)
        .map((task) => this.write(task, historyLength ?? 0)),
      nextPageToken: end < all.length ? this.tokenOf(end) : "",
      pageSize: size,
      totalSize: all.length,
    };
  }

  tokenOf(start: number): string {
    return `from-${start}`;
  }

  startOf(token: string): number {
    if (token === "") return 0;
    const [, start] = /^from-(\d+)$/.exec(token) ?? [];
    if (start === undefined) throw new A2aError(-32602, "no such page");
    return Number(start);
  }

  sizeOf(size: number): number {
    if (size >= 1 && size <= 100) return size;
    throw new A2aError(-32602, "a page has 1 to 100 tasks");
  }

  sorted(tasks: readonly PlainTask[]): PlainTask[] {
    return tasks.toSorted((a, b) => b.order - a.order);
  }

  isListed(task: PlainTask, filter: JsonObject): boolean {
    const { contextId, status, statusTimestampAfter } = filter;
    return (
      (contextId === undefined || task.contextId === contextId) &&
      (status === undefined || `TASK_STATE_${task.state}` === status) &&
      (typeof statusTimestampAfter !== "string" ||
        Date.parse(task.timestamp) >= Date.parse(statusTimestampAfter))
    );
  }

  configsOf(taskId: unknown): JsonObject[] {
    const { id } = this.find(taskId);
    const configs = this.configs.get(id) ?? [];
    this.configs.set(id, configs);
    return configs;
  }

  setConfig(config: JsonObject): JsonObject {
    const { id = crypto.randomUUID(), taskId } = config;
    const whole = { ...config, id };
    this.configsOf(taskId).push(whole);
    return whole;
  }

  getConfig(taskId: unknown, id: unknown): JsonObject {
    const found = this.configsOf(taskId).find((config) => config.id === id);
    if (!found) throw new A2aError(-32001, "no such config");
    return found;
  }

  deleteConfig(taskId: unknown, id: unknown): void {
    const configs = this.configsOf(taskId);
    const index = configs.findIndex((config) => config.id === id);
    if (index >= 0) configs.splice(index, 1);
  }
}
