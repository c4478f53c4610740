import type { Observer, Operation, OperationEnd } from "./observer.ts";

/** An operation that has begun. */
export interface OpenOperation {
  readonly id: string;
  /** Tells the observer of the end. Only the first call counts. */
  finish(end: OperationEnd): void;
}

export const SUCCEEDED: OperationEnd = { outcome: "succeeded" };
export const CANCELED_OPERATION: OperationEnd = { outcome: "canceled" };

const NAMELESS = {
  parentId: "",
  name: "",
  binding: "",
  peer: "",
  principal: "",
  taskId: "",
  subjectId: "",
};

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

  /** Begins an operation. Fields that are left out are empty. */
  begin(
    begun: Pick<Operation, "kind"> & Partial<Omit<Operation, "id">>,
  ): OpenOperation {
    const operation = { id: String(++this.#count), ...NAMELESS, ...begun };
    const isMessage =
      operation.kind === "request" && operation.subjectId !== "";
    const key = isMessage ? keyOf(operation) : "";
    if (key !== "") this.#requests.set(key, operation.id);
    let ended = this.#guarded(() => this.#observer(operation));
    return {
      id: operation.id,
      finish: (end) => {
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
