import { randomUUID } from "node:crypto";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { emptyTask, isTerminal, reduceTask, type Task, type TaskEvent } from "@devtool/schema";
import { approveByAsking } from "../approval.ts";
import { type ConnectionOptions, connect } from "../connection.ts";
import { answerAll, type ConversationOptions, converse } from "../conversation.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { createPrompter, type Prompter } from "../prompter.ts";
import { type Paint, paintFor, visible } from "../render/style.ts";
import { printerOf, settingsOf } from "../session.ts";

/** The options of `devtool chat`. */
export interface ChatOptions extends ConnectionOptions {
  readonly workspace?: string;
  readonly task?: string;
}

/** `devtool chat`: a conversation in one task. Ctrl-C cancels the turn; a second one leaves. */
export async function chat(options: ChatOptions, io: Io): Promise<number> {
  const client = await connect(options, io);
  using prompter = createPrompter(io);
  const paint = paintFor(io);
  writeLine(
    io.stdout,
    paint("dim", "Type a message; end a line with \\ to go on in the next. /exit leaves, Ctrl-C cancels a turn."),
  );
  let task = options.task === undefined ? emptyTask() : await openTask(client, options.task);
  const approve = approveByAsking(io, paint, prompter);
  const print = printerOf({}, io);
  const onEvent = (event: TaskEvent): void => {
    task = reduceTask(task, event);
    print(event);
  };
  const conversation: ConversationOptions = { client, approve, onEvent, nextId: randomUUID };
  const interrupts = new Interrupts(client, () => task, { io, prompter });
  task = await interrupts.during((signal) => answerAll(task, conversation, signal), task);
  for (;;) {
    const line = await askMessage(prompter, paint);
    if (line === undefined || line === "/exit") return ExitCode.OK;
    if (line === "") continue;
    const request = {
      message: textMessage(randomUUID(), line),
      taskId: task.id,
      ...(task.id === "" && settingsOf(options.workspace)),
    };
    task = await interrupts.during((signal) => converse(request, task, conversation, signal), task);
    if (interrupts.leaving) return ExitCode.CANCELED;
    if (isTerminal(task.state)) io.stdout.write("\n");
  }
}

/** Asks for a message; a line that ends with a backslash goes on in the next. */
async function askMessage(prompter: Prompter, paint: Paint): Promise<string | undefined> {
  let message = await prompter.ask(paint("heading", "> "));
  while (message?.endsWith("\\")) {
    const more = await prompter.ask(paint("heading", "… "));
    message = `${message.slice(0, -1)}\n${more ?? ""}`;
  }
  return message;
}

async function openTask(client: DevtoolClient, taskId: string): Promise<Task> {
  const { task } = await client.tasks.getTask({ taskId });
  return task ?? emptyTask();
}

/** Turns Ctrl-C into the end of a turn, and a second one into the end of the chat. */
class Interrupts {
  leaving = false;
  readonly #client: DevtoolClient;
  readonly #task: () => Task;
  readonly #io: Io;
  #turn: AbortController | undefined;

  constructor(
    client: DevtoolClient,
    task: () => Task,
    { io, prompter }: { readonly io: Io; readonly prompter: Prompter },
  ) {
    this.#client = client;
    this.#task = task;
    this.#io = io;
    io.onInterrupt(() => {
      if (this.#turn && !this.leaving) this.#cancel();
      else prompter[Symbol.dispose]();
    });
  }

  /** Runs a turn; when it was canceled or failed, gives the task as it is then. */
  async during(turn: (signal: AbortSignal) => Promise<Task>, before: Task): Promise<Task> {
    this.#turn = new AbortController();
    try {
      return await turn(this.#turn.signal);
    } catch (reason) {
      const message = reason instanceof Error ? reason.message : String(reason);
      writeLine(this.#io.stderr, this.leaving ? "canceled" : visible(message));
      this.leaving = false;
      const taskId = this.#task().id || before.id;
      return taskId === "" ? before : await openTask(this.#client, taskId);
    } finally {
      this.#turn = undefined;
    }
  }

  #cancel(): void {
    this.leaving = true;
    const { id } = this.#task();
    const canceled = id === "" ? Promise.resolve() : this.#client.tasks.cancelTask({ taskId: id });
    Promise.resolve(canceled)
      .catch(() => undefined)
      .finally(() => this.#turn?.abort());
  }
}
