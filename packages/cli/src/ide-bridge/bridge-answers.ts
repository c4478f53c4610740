import { isAbsolute, resolve } from "node:path";
import {
  create,
  type DescMessage,
  fromJsonString,
  type MessageShape,
  toJsonString,
} from "@bufbuild/protobuf";
import type { IdeConnection } from "@devtool/coding-agent/operator";
import { DiffDecision, DiffOutcomeSchema } from "@devtool/ide";
import { DiffRequestSchema } from "@devtool/ide/operator";
import {
  isInside,
  realPath,
  realPathOrMissing,
} from "@devtool/internal/real-path";
import { oneLine } from "@devtool/internal/visible-text";
import { type IdeContext, IdeContextSchema } from "@devtool/schema";
import { Code, DevtoolError, invalid, quoted } from "@devtool/server/agent";
import { type RoutedCall, send } from "@devtool/server/dialect";
import type { OperatorIde } from "../agents/user-ide.ts";

/** How long a diff waits for its user, in milliseconds. */
const WAIT_MS: number = 10 * 60_000;

/** Dependencies of `ideBridge`. */
export interface IdeBridgeOptions {
  readonly ide: Pick<OperatorIde, "connect" | "context">;
  /** The workspace of requests that name none: an absolute path. */
  readonly workspace: string;
  /**
   * Returns a signal that aborts when a diff has waited too long for its user.
   * Default: after ten minutes.
   */
  readonly late?: () => AbortSignal;
}

/** Answers `GET /context` with an `IdeContext`. */
export async function answerContext(
  options: IdeBridgeOptions,
  call: RoutedCall,
): Promise<void> {
  const { searchParams } = new URL(call.request.url ?? "", "http://localhost");
  const named = searchParams.get("workspace_path") ?? "";
  const workspace = workspaceOf(named, options);
  const { signal } = call.context;
  await connect(options, workspace, signal);
  const context = await readContext(options, workspace, signal);
  answer(call, IdeContextSchema, context);
}

/** Reads the context; rejects with why it cannot be read. */
async function readContext(
  { ide }: IdeBridgeOptions,
  workspace: string,
  signal: AbortSignal,
): Promise<IdeContext> {
  let why = "it has closed";
  try {
    const context = await ide.context(workspace, signal);
    if (context) return context;
  } catch (reason) {
    why = reason instanceof Error ? oneLine(reason.message, 200) : why;
  }
  throw new DevtoolError(
    `the editor cannot be read: ${why}`,
    Code.FailedPrecondition,
  );
}

/** Answers `POST /diff`, whose body is a `DiffRequest`, with a `DiffOutcome`. */
export async function answerDiff(
  options: IdeBridgeOptions,
  body: string,
  call: RoutedCall,
): Promise<void> {
  answer(call, DiffOutcomeSchema, await showDiff(options, body, call));
}

async function showDiff(
  options: IdeBridgeOptions,
  body: string,
  { context }: Pick<RoutedCall, "context">,
): Promise<MessageShape<typeof DiffOutcomeSchema>> {
  const { workspacePath, path, content } = readRequest(body);
  const workspace = workspaceOf(workspacePath, options);
  const real = realPathOrMissing(resolve(workspace, path));
  if (path === "" || real === workspace || !isInside(workspace, real)) {
    throw invalid("path", path, "is not a file of the workspace");
  }
  const link = await connect(options, workspace, context.signal);
  if (!link.showsDiffs) {
    throw new DevtoolError(
      `${link.editor} shows no diffs`,
      Code.FailedPrecondition,
    );
  }
  const late = options.late?.() ?? AbortSignal.timeout(WAIT_MS);
  try {
    const decided = await link.openDiff(
      real,
      content,
      AbortSignal.any([context.signal, late]),
    );
    return decided.case === "accepted"
      ? create(DiffOutcomeSchema, {
          decision: DiffDecision.ACCEPTED,
          content: decided.content,
        })
      : create(DiffOutcomeSchema, { decision: DiffDecision.REJECTED });
  } catch (reason) {
    context.signal.throwIfAborted();
    if (late.aborted && reason === late.reason) {
      return create(DiffOutcomeSchema, { decision: DiffDecision.CLOSED });
    }
    const why = reason instanceof Error ? reason.message : String(reason);
    throw new DevtoolError(
      `${quoted(path)} is not shown in ${link.editor}: ${why}`,
      Code.FailedPrecondition,
      { cause: reason },
    );
  }
}

function readRequest(body: string): MessageShape<typeof DiffRequestSchema> {
  try {
    return fromJsonString(DiffRequestSchema, body);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new DevtoolError(`body: ${why}`, Code.InvalidArgument, { cause });
  }
}

/** Returns the real path of the workspace that a request names. */
function workspaceOf(
  named: string,
  { workspace }: Pick<IdeBridgeOptions, "workspace">,
): string {
  const path = named || workspace;
  if (!isAbsolute(path)) {
    throw invalid("workspace_path", path, "must be an absolute path");
  }
  const real = realPath(path);
  if (real === undefined) {
    throw invalid("workspace_path", path, "does not exist");
  }
  return real;
}

/** Returns the editor of a workspace. Throws the reason why there is none. */
async function connect(
  { ide }: Pick<IdeBridgeOptions, "ide">,
  workspace: string,
  signal: AbortSignal,
): Promise<Extract<IdeConnection, { case: "connected" }>["link"]> {
  const found = await ide.connect(workspace, signal);
  if (found.case === "connected") return found.link;
  throw new DevtoolError(
    `no editor shows ${quoted(workspace)}: ${found.reason}`,
    Code.FailedPrecondition,
  );
}

function answer<Desc extends DescMessage>(
  { response }: Pick<RoutedCall, "response">,
  schema: Desc,
  message: MessageShape<Desc>,
): void {
  send(response, 200, {
    body: toJsonString(schema, message),
    "cache-control": "no-store",
  });
}
