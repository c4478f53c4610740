import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type {
  DiffProposal,
  Editor,
  EditorDiff,
  FileLocation,
} from "../editor.ts";
import {
  type EditorContext,
  EditorContextSchema,
} from "../gen/devtool/ide/v1alpha/context_pb.ts";
import type { FileDiagnostics } from "../gen/devtool/ide/v1alpha/diagnostics_pb.ts";
import {
  DiffDecision,
  type DiffOutcome,
  DiffOutcomeSchema,
} from "../gen/devtool/ide/v1alpha/diff_pb.ts";
import {
  type DiffEnded,
  type EditorAnswer,
  type EditorHello,
  EditorRequestSchema,
  type EditorState,
} from "../gen/devtool/ide/v1alpha/stdio_pb.ts";

type Request = NonNullable<
  MessageInitShape<typeof EditorRequestSchema>["request"]
>;
type Send = (request: MessageInitShape<typeof EditorRequestSchema>) => void;

/** Requests that an editor may leave without an answer. */
const MAX_UNANSWERED = 1000;

/** An editor in another process: its state, and what is asked of it. */
export class RemoteEditor implements Editor {
  readonly name: string;
  readonly displayName: string;
  readonly #send: Send;
  #state: EditorState;
  #id = 0;
  readonly #answers = new Map<number, PromiseWithResolvers<EditorAnswer>>();
  /** The diffs that have not ended, by the ids of their requests. */
  readonly #diffs = new Map<number, PromiseWithResolvers<DiffOutcome>>();
  readonly #listeners = new Set<() => void>();

  constructor(hello: EditorHello, state: EditorState, send: Send) {
    this.name = hello.name;
    this.displayName = hello.displayName;
    this.#state = state;
    this.#send = send;
  }

  /** Takes what the user sees now. */
  update(state: EditorState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }

  /** Takes an answer. One that nobody waits for is ignored. */
  takeAnswer(answer: EditorAnswer): void {
    this.#answers.get(answer.id)?.resolve(answer);
    this.#answers.delete(answer.id);
  }

  /** Takes the end of a diff. */
  endDiff({ diffId, outcome }: DiffEnded): void {
    this.#diffs.get(diffId)?.resolve(outcome ?? CLOSED);
    this.#diffs.delete(diffId);
  }

  /** Ends all that waits for the editor, which is gone. */
  abandon(): void {
    for (const { reject } of this.#answers.values()) {
      reject(new Error("it has ended"));
    }
    for (const { resolve } of this.#diffs.values()) resolve(CLOSED);
    this.#answers.clear();
    this.#diffs.clear();
  }

  workspaceFolders(): readonly string[] {
    return this.#state.workspaceFolders;
  }

  context(): EditorContext {
    return this.#state.context ?? create(EditorContextSchema);
  }

  onContext(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  async openDiff({ path, content, title }: DiffProposal): Promise<EditorDiff> {
    // Half a surrogate pair: no file can hold it, and few readers of JSON can.
    if (![path, content, title].every((text) => text.isWellFormed())) {
      throw new Error("what is proposed is not valid Unicode");
    }
    const ended = Promise.withResolvers<DiffOutcome>();
    const diffId = ++this.#id;
    this.#diffs.set(diffId, ended);
    const value = { path, content, title };
    try {
      await this.#ask(diffId, { case: "openDiff", value });
    } catch (reason) {
      this.#diffs.delete(diffId);
      throw reason;
    }
    return {
      outcome: ended.promise,
      close: () => this.#close(diffId, ended.promise),
    };
  }

  /** The user may accept it while the request is on its way. */
  async #close(diffId: number, outcome: Promise<DiffOutcome>): Promise<string> {
    try {
      const value = { diffId };
      return (await this.#call({ case: "closeDiff", value })).content;
    } catch (reason) {
      if (this.#diffs.has(diffId)) throw reason;
      const { decision, content } = await outcome;
      if (decision === DiffDecision.ACCEPTED) return content;
      throw reason;
    }
  }

  async diagnostics(
    path: string | undefined,
  ): Promise<readonly FileDiagnostics[]> {
    const value = path === undefined ? {} : { path };
    return (await this.#call({ case: "diagnostics", value })).diagnostics;
  }

  async openFile({ path, range, isFocused }: FileLocation): Promise<void> {
    const value = { path, isFocused, ...(range && { range }) };
    await this.#call({ case: "openFile", value });
  }

  isDirty(path: string): boolean | undefined {
    return this.context().openFiles.find((file) => file.path === path)?.isDirty;
  }

  async save(path: string): Promise<boolean> {
    return (await this.#call({ case: "saveFile", value: { path } })).isSaved;
  }

  #call(request: Request): Promise<EditorAnswer> {
    return this.#ask(++this.#id, request);
  }

  /** Waits for the answer, however late: the caller waits only so long. */
  async #ask(id: number, request: Request): Promise<EditorAnswer> {
    if (this.#answers.size >= MAX_UNANSWERED) {
      throw new Error(`it has ${MAX_UNANSWERED} requests to answer`);
    }
    const answer = Promise.withResolvers<EditorAnswer>();
    this.#answers.set(id, answer);
    this.#send(create(EditorRequestSchema, { id, request }));
    const given = await answer.promise;
    if (given.error !== "") throw new Error(given.error);
    return given;
  }
}

const CLOSED: DiffOutcome = create(DiffOutcomeSchema, {
  decision: DiffDecision.CLOSED,
});
