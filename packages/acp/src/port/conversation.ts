import { ApprovalMode, emptyTask, type Task } from "@devtool/schema";

/**
 * The conversation of a session with one agent: a context of the server, and
 * the task that prompts continue.
 */
export class Conversation {
  /** The name of the agent; empty on a server with one. */
  readonly agent: string;
  #contextId: string;
  #task: Task = emptyTask();
  #isStarted = false;
  #approvalMode = ApprovalMode.UNSPECIFIED;
  readonly #origin: Task | undefined;

  /**
   * @param origin the task that the first prompt goes on with, as a fork.
   * Default: none
   */
  constructor(agent: string, contextId: string, origin?: Task) {
    this.agent = agent;
    this.#contextId = contextId;
    this.#origin = origin;
    if (origin) this.#takeSession(origin);
  }

  /**
   * The context of the tasks. A server may choose another one than the client.
   */
  get contextId(): string {
    return this.#contextId;
  }

  /** The task that the next prompt continues; its id is empty for none. */
  get task(): Task {
    return this.#task;
  }

  /**
   * The task that the next prompt goes on with, as it was when the session was
   * forked; undefined once the session has a task of its own.
   */
  get origin(): Task | undefined {
    return this.#task.id === "" ? this.#origin : undefined;
  }

  /** Whether a task has fixed the settings of the context. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** The approval mode of the context, as its last task has it. */
  get approvalMode(): ApprovalMode {
    return this.#approvalMode;
  }

  /**
   * The names of the MCP servers that the task has which the next prompt
   * continues: those of a slash command are not in it.
   */
  get servers(): ReadonlySet<string> {
    const { sessionSettings } = this.origin ?? this.#task;
    const { mcpServers = [] } = sessionSettings ?? {};
    return new Set(mcpServers.map(({ name }) => name));
  }

  /** Takes the newest version of a task of the context. */
  note(task: Task): void {
    if (task.contextId !== "") this.#contextId = task.contextId;
    if (task.id === "") return;
    this.#takeSession(task);
    // A slash command has a task of its own, which prompts do not continue.
    if (task.command === undefined) this.#task = task;
  }

  #takeSession({ sessionSettings }: Task): void {
    this.#isStarted = true;
    this.#approvalMode =
      sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED;
  }
}

/** The conversations of a session, one for each agent that was chosen. */
export class Conversations {
  #current: Conversation;
  readonly #byAgent = new Map<string, Conversation>();

  constructor(first: Conversation) {
    this.#current = first;
    this.#byAgent.set(first.agent, first);
  }

  /** The conversation with the chosen agent. */
  get current(): Conversation {
    return this.#current;
  }

  /**
   * Goes on in the conversation with another agent, or begins it. A new
   * conversation takes the place of the present one, if nothing was said there.
   *
   * Returns the news of this for the client; empty for none.
   */
  choose(
    agent: string,
    {
      isBusy,
      nextId,
    }: { readonly isBusy: boolean; readonly nextId: () => string },
  ): string {
    const before = this.#current;
    if (agent === before.agent) return "";
    const known = this.#byAgent.get(agent);
    const isUnused = !before.isStarted && !isBusy;
    if (isUnused) this.#byAgent.delete(before.agent);
    this.#current =
      known ?? new Conversation(agent, isUnused ? before.contextId : nextId());
    this.#byAgent.set(agent, this.#current);
    const subject = `Agent ${JSON.stringify(agent)}`;
    if (known) {
      return `${subject} goes on where it was: it has not seen what others were told.`;
    }
    if (isUnused) return "";
    const { contextId } = this.#current;
    return `${subject} begins a new conversation, session ${JSON.stringify(contextId)}: it has not seen what was said before.`;
  }
}
