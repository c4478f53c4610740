import type { TraceContext } from "@devtool/schema";
import type {
  Observer,
  Operation,
  OperationEnd,
  OperationFacts,
  OperationKind,
} from "./observer.ts";

/** An operation that has begun. */
export interface OpenOperation {
  readonly id: string;
  /** Its place in a trace; undefined when nobody traces it. */
  readonly traceContext: TraceContext | undefined;
  /**
   * Notes that the operation brings a message, below which the turn is that it
   * starts, until the end.
   */
  bring(message: MessageKey): void;
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

  /** Whether the observer hears operations of a kind. */
  hears(kind: OperationKind): boolean {
    return this.#observer.kinds?.has(kind) ?? true;
  }

  /** Begins an operation. Fields that are left out are empty. */
  begin(
    begun: Pick<Operation, "kind"> & Partial<Omit<Operation, "id">>,
  ): OpenOperation {
    const id = String(++this.#count);
    let ended = this.hears(begun.kind)
      ? this.#guarded(() => this.#observer({ id, ...NAMELESS, ...begun }))
      : undefined;
    this.#isTraced ||= ended?.traceContext !== undefined;
    let noted: OperationFacts | undefined;
    let brought = "";
    return {
      id,
      traceContext: ended?.traceContext,
      bring: (message) => {
        brought = keyOf(message);
        this.#requests.set(brought, id);
      },
      note: (facts) => {
        noted = { ...noted, ...facts };
      },
      finish: (end) => {
        if (this.#requests.get(brought) === id) this.#requests.delete(brought);
        const tell = ended;
        ended = undefined;
        if (!tell) return;
        const facts = noted && { ...noted, ...end.facts };
        this.#guarded(() => tell(facts ? { ...end, facts } : end));
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
