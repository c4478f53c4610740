import {
  assertJsonEncodable,
  MessageSchema,
  type SendMessageRequest,
  TaskState,
} from "@devtool/schema";
import { invalid } from "../errors.ts";
import type { InboxEntry, InboxReply, TaskInbox } from "../store/task-inbox.ts";
import { assertGoalState, goalInState } from "../task/goal-progress.ts";
import type { OpenTask } from "../task/open-task.ts";
import { refusalOf } from "./ask-owner.ts";
import type { OpenTasks } from "./open-tasks.ts";

interface InboxWorkerOptions {
  readonly inbox: TaskInbox;
  readonly registry: OpenTasks;
  /**
   * Starts, replaces or ends the posts to a push config that was stored or
   * deleted.
   */
  readonly onPushConfig: (
    openTask: OpenTask,
    configId: string,
  ) => Promise<void>;
  /** Gets the errors after which an entry is tried again. */
  readonly onError: (reason: unknown) => void;
}

/**
 * Takes the requests that other servers put into the inbox for the tasks of
 * this one.
 *
 * Entries of a task are taken in order, one at a time. An entry gets its reply
 * in the transaction of the event that it causes, so the next owner of the task
 * never takes it again.
 */
export class InboxWorker implements AsyncDisposable {
  readonly #options: InboxWorkerOptions;
  /** The tasks whose entries are being taken. */
  readonly #working = new Map<string, Promise<void>>();
  readonly #watch: Disposable;
  #looking: Promise<void> | undefined;
  /** Whether an entry may have come since the last look. */
  #isWoken = false;
  #isClosed = false;

  constructor(options: InboxWorkerOptions) {
    this.#options = options;
    this.#watch = options.inbox.watch(() => this.#wake());
    this.#wake();
  }

  /** Stops taking entries, and waits for those that are being taken. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#watch[Symbol.dispose]();
    await this.#looking;
    await Promise.all(this.#working.values());
  }

  #wake(): void {
    this.#isWoken = true;
    this.#looking ??= this.#look();
  }

  async #look(): Promise<void> {
    while (this.#isWoken && !this.#isClosed) {
      this.#isWoken = false;
      try {
        for (const taskId of await this.#options.inbox.waiting()) {
          if (this.#working.has(taskId)) continue;
          const working = this.#takeAll(taskId)
            .catch(
              (reason: unknown) =>
                this.#isClosed || this.#options.onError(reason),
            )
            .then(() => {
              this.#working.delete(taskId);
            });
          this.#working.set(taskId, working);
        }
      } catch (reason) {
        this.#options.onError(reason);
      }
    }
    this.#looking = undefined;
  }

  /**
   * Takes the entries of a task, until there is none or one that stays without
   * a reply, for another try.
   */
  async #takeAll(taskId: string): Promise<void> {
    const { inbox, registry } = this.#options;
    using held = await registry.own(taskId);
    if (!held) return;
    const { handle: openTask } = held;
    // The next entry is read after the reply to the one before, and under the
    // lease: so none is taken twice.
    while (!this.#isClosed) {
      const entry = await inbox.next(taskId);
      if (!entry) return;
      let reply: InboxReply;
      try {
        if (await applyRequest(openTask, entry, this.#options)) continue;
        reply = { case: "taken", sequence: openTask.task.sequence };
      } catch (reason) {
        // The request may be in the log, or its task elsewhere: whoever opens
        // the task next finds out.
        if (openTask.log.failure || openTask.isStopping) return;
        reply = refusalOf(reason);
      }
      // When this throws, the entry stays for another try: its request must not
      // be refused for that.
      if (!(await inbox.reply(taskId, entry.id, openTask.fence, reply))) return;
    }
  }
}

/**
 * Applies the request of an entry. Returns whether the append of the change has
 * also stored the reply.
 */
async function applyRequest(
  openTask: OpenTask,
  { id, request: { request } }: InboxEntry,
  { onPushConfig }: Pick<InboxWorkerOptions, "onPushConfig">,
): Promise<boolean> {
  switch (request.case) {
    case "message":
      await openTask.accept({ ...acceptedMessage(request.value), entry: id });
      return true;
    case "withdraw":
      await openTask.withdraw(request.value.messageId, id);
      return true;
    case "notice":
      await openTask.addNotice(request.value, id);
      return true;
    // A title or state that is set already causes no event that could reply.
    case "rename": {
      const { title, clientLabel } = request.value;
      if (openTask.task.title === title) return false;
      await openTask.setTitle(title, clientLabel, id);
      return true;
    }
    case "goalState": {
      const { state } = request.value;
      assertGoalState(state);
      if (!goalInState(openTask.task, state)) return false;
      await openTask.setGoalState(state, id);
      return true;
    }
    case "cancel":
      // The sender saw a task that had not ended. If it is canceled now, this
      // entry did so before a crash, or another request did.
      if (openTask.task.state !== TaskState.CANCELED) await openTask.cancel();
      return false;
    case "activateExtension":
      await openTask.activateExtension();
      return false;
    case "pushConfig":
      await onPushConfig(openTask, request.value);
      return false;
    case undefined:
      throw invalid("request", "", "is not one that this release knows");
    default:
      return request satisfies never;
  }
}

function acceptedMessage({
  message,
  activateExtension,
  messageSettings,
  sessionSettings,
}: SendMessageRequest): Parameters<OpenTask["accept"]>[0] {
  if (!message) throw invalid("message", "", "is missing");
  assertJsonEncodable(MessageSchema, message);
  return {
    message,
    activateExtension,
    delivery: messageSettings?.delivery,
    clientLabel: messageSettings?.clientLabel,
    approvalMode: sessionSettings?.approvalMode || undefined,
  };
}
