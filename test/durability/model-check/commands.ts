import { existsSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import type { Answer, Json, ServerUnderTest } from "./server-under-test.ts";

/**
 * The request in a message: text, or a change of a file, which the agent must
 * ask about first.
 */
type Kind = "text" | "write";

interface Sent {
  readonly id: string;
  readonly params: Json;
}

/** A task as it must be: the reference that the server is compared with. */
export class TaskModel {
  id = "";
  state: "none" | "completed" | "canceled" | "input-required" = "none";
  /** The ids of the user's messages that the agent was given, in order. */
  readonly messages: string[] = [];
  queue: { readonly id: string; readonly kind: Kind }[] = [];
  /** The file that the open question is about; empty when there is none. */
  asksFor = "";
  /** Every message that was taken or queued, to be sent again. */
  readonly sent: Sent[] = [];
  readonly answered: string[] = [];
  /** Whether each file that was asked about was written. */
  readonly files = new Map<string, boolean>();

  /**
   * Gives a message to the agent, and then those that wait, up to the next
   * question.
   */
  take(id: string, kind: Kind): void {
    this.messages.push(id);
    this.#play(id, kind);
  }

  answer(id: string, approves: boolean): void {
    this.messages.push(id);
    this.files.set(this.asksFor, approves);
    this.asksFor = "";
    this.state = "completed";
    this.#goOn();
  }

  cancel(): void {
    if (this.asksFor !== "") this.files.set(this.asksFor, false);
    this.asksFor = "";
    this.queue = [];
    this.state = "canceled";
  }

  #play(id: string, kind: Kind): void {
    this.state = kind === "text" ? "completed" : "input-required";
    this.asksFor = kind === "text" ? "" : fileOf(id);
    if (kind === "text") this.#goOn();
  }

  #goOn(): void {
    const next = this.queue.shift();
    if (next) this.take(next.id, next.kind);
  }
}

/** The system: a server, and what a client must remember of the task. */
interface Real {
  readonly server: ServerUnderTest;
  /** The id of the call that waits for an answer. */
  call: string;
  /** Makes ids that are never the same twice. */
  readonly nextId: () => string;
}

type Command = fc.AsyncCommand<TaskModel, Real>;

const MAX_QUEUED = 16;

/** The commands that a client may give, in any order. */
export function commands(): fc.Arbitrary<Command>[] {
  const kind = fc.constantFrom<Kind>("text", "write");
  return [
    kind.map((what) =>
      command(`send ${what}`, (model, real) => send(model, real, what)),
    ),
    fc
      .boolean()
      .map((approves) =>
        questionCommand(`answer ${approves}`, (model, real) =>
          answer(model, real, approves),
        ),
      ),
    fc
      .constantFrom("call", "option")
      .map((wrong) =>
        questionCommand(`wrong ${wrong}`, (model, real) =>
          answerWrongly(model, real, wrong),
        ),
      ),
    fc.constant(taskCommand("answer again", answerAgain)),
    fc
      .nat()
      .map((index) =>
        taskCommand(`retry ${index}`, (model, real) =>
          retry(model, real, index),
        ),
      ),
    fc
      .nat()
      .map((index) =>
        taskCommand(`withdraw ${index}`, (model, real) =>
          withdraw(model, real, index),
        ),
      ),
    fc.constant(taskCommand("cancel", cancel)),
    fc.constant(taskCommand("subscribe", subscribe)),
    // A restart takes as long as a hundred other commands.
    fc
      .integer({ min: 0, max: 9 })
      .map((roll) =>
        taskCommand("restart", (_, { server }) =>
          roll === 0 ? server.restart() : Promise.resolve(),
        ),
      ),
  ];
}

async function send(model: TaskModel, real: Real, kind: Kind): Promise<void> {
  const id = real.nextId();
  const text = kind === "text" ? "text hi" : `write ${fileOf(id)}`;
  const params = messageParams(model, id, { kind: "text", text });
  const answered = await real.server.call("message/send", params);
  if (model.asksFor !== "" && model.queue.length >= MAX_QUEUED) {
    return expect(answered).toEqual({ code: -32004 });
  }
  model.sent.push({ id, params });
  if (model.asksFor !== "") {
    model.queue.push({ id, kind });
  } else {
    model.take(id, kind);
  }
  if ("task" in answered) model.id ||= answered.task.id;
  expectState(answered, model);
}

async function answer(
  model: TaskModel,
  real: Real,
  approves: boolean,
): Promise<void> {
  const id = real.nextId();
  const data = {
    tool_call_id: real.call,
    selected_option_id: approves ? "proceed_once" : "cancel",
  };
  const params = messageParams(model, id, { kind: "data", data });
  const answered = await real.server.call("message/send", params);
  model.sent.push({ id, params });
  model.answered.push(real.call);
  model.answer(id, approves);
  expectState(answered, model);
}

async function answerWrongly(
  model: TaskModel,
  real: Real,
  wrong: string,
): Promise<void> {
  const call = wrong === "call" ? "no-such-call" : real.call;
  const data = {
    tool_call_id: call,
    selected_option_id: wrong === "call" ? "proceed_once" : "no-such-option",
  };
  const params = messageParams(model, real.nextId(), { kind: "data", data });
  expect(await real.server.call("message/send", params)).toEqual({
    code: -32602,
  });
}

/** The first answer won, whatever the second says. */
async function answerAgain(model: TaskModel, real: Real): Promise<void> {
  const call = model.answered.at(-1);
  if (call === undefined) return;
  const data = { tool_call_id: call, selected_option_id: "proceed_once" };
  const params = messageParams(model, real.nextId(), { kind: "data", data });
  expect(await real.server.call("message/send", params)).toEqual({
    code: -32004,
  });
}

async function retry(
  model: TaskModel,
  real: Real,
  index: number,
): Promise<void> {
  const sent = model.sent[index % model.sent.length];
  if (!sent) return;
  const answered = await real.server.call("message/send", sent.params);
  expect(answered).toHaveProperty("task.id", model.id);
}

async function withdraw(
  model: TaskModel,
  real: Real,
  index: number,
): Promise<void> {
  const waiting = model.queue[index % Math.max(1, model.queue.length)];
  const messageId = waiting?.id ?? "no-such-message";
  const answered = await real.server.call("message/withdraw", {
    taskId: model.id,
    messageId,
  });
  if (!waiting) return expect(answered).toEqual({ code: -32001 });
  model.queue = model.queue.filter(({ id }) => id !== messageId);
  expectState(answered, model);
}

async function cancel(model: TaskModel, real: Real): Promise<void> {
  const isOpen = model.state === "input-required";
  const answered = await real.server.call("tasks/cancel", { id: model.id });
  if (!isOpen) return expect(answered).toEqual({ code: -32002 });
  model.cancel();
  expectState(answered, model);
}

async function subscribe(model: TaskModel, { server }: Real): Promise<void> {
  const events = await server.eventIds(model.id);
  expect(events).toEqual(
    [...new Set(events)].toSorted((one, other) => one - other),
  );
  expect(events.length).toBeGreaterThan(0);
}

/**
 * After each command the task is as the reference says, whoever asks for it.
 */
async function checkTask(model: TaskModel, real: Real): Promise<void> {
  if (model.id === "") return;
  const answered = await real.server.call("tasks/get", { id: model.id });
  if (!("task" in answered)) {
    throw new Error(`the task cannot be had: ${answered.code}`);
  }
  const { state, messages, queued, asks } = answered.task;
  expect({ state, messages, queued }).toEqual({
    state: model.state,
    messages: model.messages,
    queued: model.queue.map(({ id }) => id),
  });
  expect(asks !== "").toBe(model.asksFor !== "");
  real.call = asks;
  const written = [...model.files.keys()].map((file) => [
    file,
    existsSync(join(real.server.workspace, file)),
  ]);
  expect(written).toEqual([...model.files]);
}

type Run = (model: TaskModel, real: Real) => Promise<void>;

function command(
  name: string,
  run: Run,
  check: (model: Readonly<TaskModel>) => boolean = () => true,
): Command {
  return {
    check,
    run: async (model, real) => {
      await run(model, real);
      await checkTask(model, real);
    },
    toString: () => name,
  };
}

/** A command about a task that is there. */
function taskCommand(name: string, run: Run): Command {
  return command(name, run, ({ id }) => id !== "");
}

/** A command about an open question. */
function questionCommand(name: string, run: Run): Command {
  return command(name, run, ({ asksFor }) => asksFor !== "");
}

function expectState(answered: Answer, model: TaskModel): void {
  expect("task" in answered ? answered.task.state : answered).toBe(model.state);
}

function messageParams(model: TaskModel, id: string, part: Json): Json {
  return {
    message: {
      ...messageOf(id, part),
      ...(model.id !== "" && { taskId: model.id }),
    },
  };
}

function messageOf(messageId: string, part: Json): Json {
  return { kind: "message", role: "user", messageId, parts: [part] };
}

function fileOf(messageId: string): string {
  return `${messageId}.txt`;
}
