import { isAbsolute } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { create, fromJson, fromJsonString } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import { keepStart } from "@devtool/internal/cut-text";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  plainJson,
} from "@devtool/internal/json";
import { KeyedQueue } from "@devtool/internal/keyed-queue";
import { type IdeContext, IdeContextSchema } from "@devtool/schema";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import type { Candidate } from "../doctor/candidate.ts";
import {
  type Diagnostic,
  DiagnosticSeverity,
} from "../gen/devtool/ide/v1alpha/diagnostics_pb.ts";
import {
  ContextUpdateSchema,
  type DiagnosticsAnswer,
  DiagnosticsAnswerSchema,
  DiffAcceptedSchema,
  DiffRejectedSchema,
  type WorkspaceFile,
  type WorkspaceState,
} from "../gen/devtool/ide/v1alpha/gemini_cli_pb.ts";
import {
  EDITOR_TIMEOUT_MS,
  MAX_DIAGNOSTIC_MESSAGE,
  MAX_DIAGNOSTICS,
  MAX_FILES,
  MAX_SELECTION,
} from "../limits.ts";
import { VERSION } from "../version.ts";

/** How the user answered a proposed change in the editor. */
export type IdeAnswer =
  | { readonly case: "accepted"; readonly content: string }
  | { readonly case: "rejected" };

/** The lines of a file that an editor is to show, from 1. */
export interface IdeLines {
  readonly first: number;
  /** The last one to select. Undefined: nothing is selected. */
  readonly last: number | undefined;
}

/** How long a companion may take to answer, in milliseconds. */
const TIMEOUT_MS = 3000;

/** How long a new connection may take to tell its context, in milliseconds. */
const CONTEXT_TIMEOUT_MS = 500;

/** The time between checks that the editor of an open diff is there. */
const CHECK_MS = 5000;

/**
 * How long the report of a diff that was closed here may take, in milliseconds,
 * after the companion has said that it closed the diff.
 */
const REPORT_MS = 250;

/** Maximum length of a path, in UTF-16 code units. */
const MAX_PATH = 4096;

/** Maximum length of the name of what reports something, likewise. */
const MAX_SOURCE = 100;

/** A connection to a companion, ours or that of Gemini CLI. */
export class CompanionLink implements AsyncDisposable {
  /** The name of the editor for people. */
  readonly editor: string;
  readonly #client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  /** Diffs are told apart by their files: a file has one at a time. */
  readonly #diffs = new KeyedQueue();
  readonly #waiting = new Map<string, (answer: IdeAnswer) => void>();
  /**
   * The proposed contents of diffs that the user answered when they were closed
   * here, and whose answers have not been heard yet.
   */
  readonly #unheard = new Map<string, string>();
  readonly #told = Promise.withResolvers<void>();
  readonly #onTrust: () => void;
  #state: WorkspaceState | undefined;
  #tools: ReadonlySet<string> = new Set();

  /**
   * Connects to a companion. Rejects when it does not let the agent in.
   *
   * @param onTrust called when the user has trusted the workspace, or does not
   * trust it any more
   */
  static async open(
    candidate: Candidate,
    onTrust: () => void,
    signal: AbortSignal,
  ): Promise<CompanionLink> {
    const link = new CompanionLink(candidate, onTrust);
    try {
      await link.#connect(signal);
      return link;
    } catch (reason) {
      await link[Symbol.asyncDispose]();
      throw reason;
    }
  }

  private constructor({ port, token, editor }: Candidate, onTrust: () => void) {
    this.#onTrust = onTrust;
    this.editor = editor || "the editor";
    this.#client = new Client({ name: "devtool", version: VERSION });
    this.#client.fallbackNotificationHandler = async ({ method, params }) =>
      this.#hear(method, params);
    this.#transport = new StreamableHTTPClientTransport(
      new URL(`http://127.0.0.1:${port}/mcp`),
      { requestInit: { headers: { authorization: `Bearer ${token}` } } },
    );
  }

  /** Whether the user trusts the workspace, as far as the editor says it. */
  get isTrusted(): boolean {
    return this.#state?.isTrusted !== false;
  }

  /** Whether the editor shows diffs. */
  get showsDiffs(): boolean {
    return this.#tools.has("openDiff") && this.#tools.has("closeDiff");
  }

  /** Whether the editor reports diagnostics. Only our companion does. */
  get reportsDiagnostics(): boolean {
    return this.#tools.has("getDiagnostics");
  }

  /** Whether the editor shows files. Only our companion does. */
  get showsFiles(): boolean {
    return this.#tools.has("openFile");
  }

  /** Whether the companion answers. */
  async isAlive(): Promise<boolean> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    return await this.#client.ping({ signal: timeout }).then(
      () => true,
      () => false,
    );
  }

  /** Returns what the user sees now, as a whole. */
  context(): IdeContext {
    const files = [...(this.#state?.openFiles ?? [])]
      .filter(({ path }) => isAbsolute(path) && path.length <= MAX_PATH)
      .sort((one, other) => other.timestamp - one.timestamp)
      .slice(0, MAX_FILES);
    // Only one file can be active, also where an editor names several.
    const active = files.find(({ isActive }) => isActive);
    const rest = files.filter((file) => file !== active);
    return create(IdeContextSchema, {
      editor: this.editor,
      isWhole: true,
      files: [
        ...(active ? [{ ...seen(active), ...focus(active) }] : []),
        ...rest.map(seen),
      ],
    });
  }

  /**
   * Returns what the editor reports about a file, or about all files without a
   * path: at most 1000 reports, the errors of each file first.
   */
  async diagnostics(
    path: string | undefined,
    signal: AbortSignal,
  ): Promise<IdeContext["files"]> {
    const input = path === undefined ? {} : { filePath: path };
    const text = await this.#call("getDiagnostics", input, soon(signal));
    let left = MAX_DIAGNOSTICS;
    const files = readDiagnostics(text, this.editor).files.flatMap(
      ({ path, diagnostics }) => {
        if (!isAbsolute(path) || path.length > MAX_PATH) return [];
        const kept = diagnostics.slice(0, left);
        left -= kept.length;
        return { path, diagnostics: kept.map(ideDiagnostic) };
      },
    );
    return create(IdeContextSchema, { files }).files;
  }

  /** Shows a file and, when lines are given, goes to them. */
  async openFile(
    path: string,
    lines: IdeLines | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const input = {
      filePath: path,
      ...(lines && { line: lines.first }),
      ...(lines?.last !== undefined && { endLine: lines.last }),
    };
    await this.#call("openFile", input, soon(signal));
  }

  /**
   * Shows a proposed content of a file, and resolves to what the user does with
   * it. A diff of the same file that is still open is waited for, and so is what
   * the editor reports about one that was closed here: a report names the file
   * alone.
   *
   * Rejects when the editor does not show it or goes away. When the signal
   * aborts, closes the view and rejects with the signal's reason; with an error
   * that says so when another diff of the file is open until then.
   */
  async openDiff(
    path: string,
    content: string,
    signal: AbortSignal,
  ): Promise<IdeAnswer> {
    signal.throwIfAborted();
    const begun = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<IdeAnswer>();
    // Nobody waits for it where its turn comes too late.
    answer.promise.catch(() => undefined);
    void this.#diffs.run(path, async () => {
      if (signal.aborted) return;
      begun.resolve();
      await this.#showDiff(path, content, answer, signal);
    });
    await abortable(begun.promise, signal).catch((cause) => {
      const problem = "another diff of the file is open: answer that one first";
      throw new Error(problem, { cause });
    });
    return await answer.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    await abortable(this.#transport.terminateSession(), timeout).catch(
      () => undefined,
    );
    await this.#client.close().catch(() => undefined);
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const options = { signal: limit };
    await abortable(this.#client.connect(this.#transport, options), limit);
    const { tools } = await this.#client.listTools(undefined, options);
    this.#tools = new Set(tools.map(({ name }) => name));
    // An editor that says nothing has nothing open, or is a slow one.
    const pause = AbortSignal.timeout(CONTEXT_TIMEOUT_MS);
    await abortable(this.#told.promise, pause).catch(() => undefined);
    signal.throwIfAborted();
  }

  /**
   * Settles an answer with that of the user. Resolves once no report about the
   * diff is on its way.
   */
  async #showDiff(
    path: string,
    newContent: string,
    answer: PromiseWithResolvers<IdeAnswer>,
    signal: AbortSignal,
  ): Promise<void> {
    const report = Promise.withResolvers<IdeAnswer>();
    this.#waiting.set(path, (heard) => {
      if (this.#isUnheard(path, newContent, heard)) return;
      report.resolve(heard);
    });
    const left = new AbortController();
    try {
      const input = { filePath: path, newContent };
      await abortable(this.#call("openDiff", input, signal), signal);
      const either = Promise.race([report.promise, this.#lost(left.signal)]);
      answer.resolve(await abortable(either, signal));
    } catch (reason) {
      left.abort();
      const isClosed = !signal.aborted || (await this.#closeDiff(path));
      answer.reject(reason);
      if (!signal.aborted) return;
      const late = AbortSignal.timeout(isClosed ? REPORT_MS : TIMEOUT_MS);
      await abortable(report.promise, late).catch(
        () => isClosed || this.#unheard.set(path, newContent),
      );
    } finally {
      left.abort();
      this.#waiting.delete(path);
    }
  }

  /** Whether an answer is that to an earlier diff of the file. Takes it once. */
  #isUnheard(path: string, newContent: string, heard: IdeAnswer): boolean {
    const earlier = this.#unheard.get(path);
    this.#unheard.delete(path);
    return (
      heard.case === "accepted" &&
      heard.content === earlier &&
      heard.content !== newContent
    );
  }

  /** Rejects once the companion does not answer any more. */
  async #lost(left: AbortSignal): Promise<never> {
    for (;;) {
      await delay(CHECK_MS, undefined, { signal: left, ref: false }).catch(
        () => undefined,
      );
      if (!left.aborted && !(await this.isAlive())) {
        throw new Error(`${this.editor} does not answer any more`);
      }
      // Nobody waits for this any more.
      if (left.aborted) return await new Promise<never>(() => undefined);
    }
  }

  /** Returns whether the diff was open, so that the user has not answered it. */
  async #closeDiff(path: string): Promise<boolean> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    // Older companions report a diff that is closed here as rejected.
    const input = { filePath: path, suppressNotification: true };
    const text = await this.#call("closeDiff", input, timeout).catch(() => "");
    const { content } = objectOrEmpty(parseJsonOrUndefined(text));
    return typeof content === "string";
  }

  async #call(
    name: string,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<string> {
    const result = await this.#client.callTool(
      { name, arguments: input },
      { signal },
    );
    const text = listOrEmpty(result.content)
      .map((part) => String(objectOrEmpty(part).text ?? ""))
      .join("\n");
    if (result.isError) throw new Error(text || `${name} failed`);
    return text;
  }

  /** Takes a notification. One that is malformed is ignored. */
  #hear(method: string, params: unknown): void {
    if (!isObject(params)) return;
    const json = plainJson(params);
    const options = { ignoreUnknownFields: true };
    try {
      if (method === "ide/contextUpdate") {
        const update = fromJson(ContextUpdateSchema, json, options);
        const before = this.#state && this.isTrusted;
        this.#state = update.workspaceState;
        this.#told.resolve();
        if (before === !this.isTrusted) this.#onTrust();
      } else if (method === "ide/diffAccepted") {
        const accepted = fromJson(DiffAcceptedSchema, json, options);
        const { filePath, content } = accepted;
        this.#waiting.get(filePath)?.({ case: "accepted", content });
      } else if (method === "ide/diffRejected" || method === "ide/diffClosed") {
        const { filePath } = fromJson(DiffRejectedSchema, json, options);
        this.#waiting.get(filePath)?.({ case: "rejected" });
      }
    } catch {
      // The next one may be well formed.
    }
  }
}

function seen({ path, isDirty }: WorkspaceFile) {
  return { path, ...(isDirty !== undefined && { isDirty }) };
}

function focus({ cursor, selectedText = "" }: WorkspaceFile) {
  return {
    isActive: true,
    selectedText: keepStart(selectedText, MAX_SELECTION),
    ...(cursor && {
      cursor: { line: cursor.line, character: cursor.character },
    }),
  };
}

/** A signal that aborts, too, when the editor has had its time to answer. */
function soon(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(EDITOR_TIMEOUT_MS)]);
}

function readDiagnostics(text: string, editor: string): DiagnosticsAnswer {
  try {
    return fromJsonString(DiagnosticsAnswerSchema, text, {
      ignoreUnknownFields: true,
    });
  } catch (cause) {
    throw new Error(`what ${editor} reports cannot be read`, { cause });
  }
}

const SEVERITIES = {
  [DiagnosticSeverity.UNSPECIFIED]: "error",
  [DiagnosticSeverity.ERROR]: "error",
  [DiagnosticSeverity.WARNING]: "warning",
  [DiagnosticSeverity.INFORMATION]: "information",
  [DiagnosticSeverity.HINT]: "hint",
} as const;

function ideDiagnostic({ message, severity, range, source }: Diagnostic) {
  const { line = 0, character = 0 } = range?.start ?? {};
  return {
    severity: SEVERITIES[severity] ?? "error",
    message: keepStart(message, MAX_DIAGNOSTIC_MESSAGE),
    source: keepStart(source, MAX_SOURCE),
    ...(range && { position: { line: line + 1, character: character + 1 } }),
  };
}
