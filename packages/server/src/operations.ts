import type { TraceContext } from "@devtool/schema";
import type {
  Observer,
  Operation,
  OperationEnd,
  OperationFacts,
} from "./observer.ts";

/** An operation that has begun. */
export interface OpenOperation {
  readonly id: string;
  /** Its place in a trace; undefined when nobody traces it. */
  readonly traceContext: TraceContext | undefined;
  /** Keeps what became known for the observer, until the end. */
  note(facts: OperationFacts): void;
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
  contextId: "",
  agent: "",
};

/** The operations of a server that has an observer. */
export class Operations {
  /** The name of the agent of tasks that name none. */
  readonly defaultAgent: string;
  readonly #observer: Observer;
  readonly #onError: (reason: unknown) => void;
  #count = 0;
  #isTraced = false;
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

  /** Whether the observer gives operations their places in traces. */
  get isTraced(): boolean {
    return this.#isTraced;
  }

  /** Begins an operation. Fields that are left out are empty. */
  begin(
    begun: Pick<Operation, "kind"> & Partial<Omit<Operation, "id">>,
  ): OpenOperation {
    const id = String(++this.#count);
    let ended = this.#guarded(() =>
      this.#observer({ id, ...NAMELESS, ...begun }),
    );
    this.#isTraced ||= ended?.traceContext !== undefined;
    let noted: OperationFacts | undefined;
    return {
      id,
      traceContext: ended?.traceContext,
      note: (facts) => {
        noted = { ...noted, ...facts };
      },
      finish: (end) => {
        const tell = ended;
        ended = undefined;
        if (!tell) return;
        const facts = noted && { ...noted, ...end.facts };
        this.#guarded(() => tell(facts ? { ...end, facts } : end));
      },
    };
  }

  /**
   * Notes that a request brings a message, below which the turn that it starts
   * is, until the result is disposed of.
   */
  bring(requestId: string, message: MessageKey): Disposable {
    const key = keyOf(message);
    if (message.subjectId !== "") this.#requests.set(key, requestId);
    return {
      [Symbol.dispose]: () => {
        if (this.#requests.get(key) === requestId) this.#requests.delete(key);
      },
    };
  }

  /** Returns the id of the open request that brought a message, or "". */
  requestOf(message: MessageKey): string {
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

/** The sender of a message, and the message's id. */
type MessageKey = Pick<Operation, "principal" | "subjectId">;

function keyOf({ principal, subjectId }: MessageKey): string {
  return `${subjectId} ${principal}`;
}
