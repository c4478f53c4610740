/** The kinds of what a server does that take time. */
export type OperationKind =
  /** A request of a client, over whichever protocol, until its answer ends. */
  | "request"
  /** A turn of an agent, until its end is recorded. */
  | "turn"
  /** A request of an agent to its model, as `Turn.observe` reports it. */
  | "step"
  /** A tool call, from when it runs. */
  | "call"
  /** A question to the user, until it is answered or withdrawn. */
  | "question"
  /** An append to the log of a task, until it is durable. */
  | "append"
  /** An attempt to post an event to a webhook. */
  | "post";

/** Something that a server begins, and ends later. */
export interface Operation {
  /** Unique in the server. */
  readonly id: string;
  /** The operation of which this one is a part. Empty for none. */
  readonly parentId: string;
  readonly kind: OperationKind;
  /**
   * The method of a request, the agent of a turn, the model of a step, the tool
   * of a call or question, the address of a post. Empty for an append.
   */
  readonly name: string;
  /** The principal whose task or request it is. */
  readonly principal: string;
  /** Empty for a request that names no task. */
  readonly taskId: string;
  /**
   * The id of the message of a request or turn, of the call of a call or
   * question, or of the config of a post. Empty for others.
   */
  readonly subjectId: string;
}

/** How an operation ended. */
export interface OperationEnd {
  /** `canceled`: it was stopped before its end. */
  readonly outcome: "succeeded" | "failed" | "canceled";
  /** What failed. Undefined unless the outcome is `failed`. */
  readonly error?: unknown;
}

/**
 * Hears what a server does: is called when an operation begins, and may return
 * what is called once when it ends. Names and errors may hold text of clients,
 * agents and models.
 *
 * It is called within the work that it observes, so it must return at once.
 * Its errors go to `ServerSettings.onError` and disturb nothing.
 */
export type Observer = (
  operation: Operation,
) => ((end: OperationEnd) => void) | undefined;

/** An operation that has begun. */
export interface OpenOperation {
  readonly id: string;
  /** Tells the observer of the end. Only the first call counts. */
  end(end: OperationEnd): void;
}

export const SUCCEEDED: OperationEnd = { outcome: "succeeded" };
export const CANCELED_OPERATION: OperationEnd = { outcome: "canceled" };

/** The operations of a server that has an observer. */
export class Operations {
  /** The name of the agent of tasks that name none. */
  readonly defaultAgent: string;
  readonly #observer: Observer;
  readonly #onError: (reason: unknown) => void;
  #count = 0;
  /** The open requests that bring a message, by `keyOf`. */
  readonly #requests = new Map<string, string>();

  constructor(
    observer: Observer,
    defaultAgent: string,
    onError: (reason: unknown) => void,
  ) {
    this.#observer = observer;
    this.defaultAgent = defaultAgent;
    this.#onError = onError;
  }

  begin(begun: Omit<Operation, "id">): OpenOperation {
    const operation = { id: String(++this.#count), ...begun };
    const key =
      begun.kind === "request" && begun.subjectId !== "" ? keyOf(begun) : "";
    if (key !== "") this.#requests.set(key, operation.id);
    let ended = this.#guarded(() => this.#observer(operation));
    return {
      id: operation.id,
      end: (end) => {
        const tell = ended;
        ended = undefined;
        if (this.#requests.get(key) === operation.id) {
          this.#requests.delete(key);
        }
        if (tell) this.#guarded(() => tell(end));
      },
    };
  }

  /** Returns the id of the open request that brought a message, or "". */
  requestOf(message: Pick<Operation, "principal" | "subjectId">): string {
    return this.#requests.get(keyOf(message)) ?? "";
  }

  #guarded<Result>(tell: () => Result): Result | undefined {
    try {
      return tell();
    } catch (reason) {
      this.#onError(reason);
      return undefined;
    }
  }
}

function keyOf({
  principal,
  subjectId,
}: Pick<Operation, "principal" | "subjectId">): string {
  return `${subjectId} ${principal}`;
}
