import { create } from "@bufbuild/protobuf";
import type { CodingServerOptions } from "@devtool/coding-agent";
import type {
  Ide,
  IdeConnection,
  UserIde,
} from "@devtool/coding-agent/operator";
import { loadOnce } from "@devtool/internal/load-once";
import { callerOfTask } from "@devtool/internal/task-caller";
import {
  createReadDecision,
  readRules,
  type ServerRules,
} from "@devtool/policy";
import {
  ApprovalMode,
  approvalModeOf,
  type IdeContext,
  stricterMode,
  type Task,
  TaskSchema,
} from "@devtool/schema";
import type { CommandContext, IdeContexts } from "@devtool/server/agent";
import { OPERATOR } from "@devtool/server/operator";
import type { Io } from "../io.ts";

/**
 * Returns the editors of this user, which are loaded when a session first asks
 * for one.
 */
export function userIde(
  env: Io["env"],
): NonNullable<CodingServerOptions["ide"]> {
  let isUsed = false;
  const links = loadOnce(async () => {
    const { IdeLinks } = await import("@devtool/ide/operator");
    return new IdeLinks(env);
  });
  return {
    async connect(workspacePath, signal) {
      isUsed = true;
      return await (await links()).connect(workspacePath, signal);
    },
    async *changes(signal) {
      yield* (await links()).changes(signal);
    },
    async [Symbol.asyncDispose]() {
      if (isUsed) await (await links())[Symbol.asyncDispose]();
    },
  };
}

/** Dependencies of `OperatorIde`. */
interface OperatorIdeOptions {
  readonly ide: Ide;
  readonly dataDirectory: string;
  readonly policyFiles?: readonly string[];
  /** The approval mode of the server. Default: `default`. */
  readonly approvalMode?: ApprovalMode | undefined;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
}

/**
 * The editors of the server's user in the workspaces that they trust, for what
 * is not our agent: agents of others.
 */
export class OperatorIde implements IdeContexts {
  readonly #options: OperatorIdeOptions;
  readonly #load: () => Promise<UserIde>;
  readonly #rules: () => Promise<ServerRules>;

  constructor(options: OperatorIdeOptions) {
    const { ide, dataDirectory, policyFiles = [], onNotice } = options;
    this.#options = options;
    this.#rules = loadOnce(() => readRules(dataDirectory, policyFiles));
    this.#load = loadOnce(async () => {
      const { TrustStore, UserIde, Workspace } = await import(
        "@devtool/coding-agent/operator"
      );
      const trust = new TrustStore({
        dataDirectory,
        openDirectory: (root) => new Workspace(root),
        now: () => new Date(),
        onNotice,
      });
      const operator = OPERATOR.principal;
      return new UserIde({ ide, operator, trust, dataDirectory });
    });
  }

  /** Returns whose editors they are. */
  user(): Promise<UserIde> {
    return this.#load();
  }

  /** Returns the editor of a workspace, or why there is none. */
  async connect(
    workspacePath: string,
    signal: AbortSignal,
  ): Promise<IdeConnection> {
    const user = await this.#load();
    return user.connect(contextOf(withoutSession(workspacePath)), signal);
  }

  /** Reads as `read` does, without a session; rejects with what is in the way. */
  context(
    workspacePath: string,
    signal: AbortSignal,
  ): Promise<IdeContext | undefined> {
    return this.#context(withoutSession(workspacePath), signal);
  }

  async read(task: Task, signal: AbortSignal): Promise<IdeContext | undefined> {
    try {
      return await this.#context(task, signal);
    } catch (reason) {
      const why = reason instanceof Error ? reason.message : String(reason);
      this.#options.onNotice(`the editor is left out: ${why}`);
      return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.ide[Symbol.asyncDispose]();
  }

  /** Rejects with what is in the way. */
  async #context(
    task: Task,
    signal: AbortSignal,
  ): Promise<IdeContext | undefined> {
    const { approvalMode = ApprovalMode.DEFAULT } = this.#options;
    const { rules } = await this.#rules();
    const context = contextOf(task);
    const decideReading = createReadDecision(rules, {
      workspace: context.workspacePath,
      mode: stricterMode(approvalMode, approvalModeOf(task)),
      caller: callerOfTask(task),
    });
    const user = await this.#load();
    return await user.context(context, decideReading, signal);
  }
}

/** Returns the place of a task for what concerns its session's editor. */
export function contextOf({
  principal,
  contextId,
  settings,
}: Task): CommandContext {
  const { workspacePath = "" } = settings ?? {};
  return { principal, contextId, workspacePath };
}

/** Returns a task of the server's user that is in no session. */
function withoutSession(workspacePath: string): Task {
  const { principal } = OPERATOR;
  return create(TaskSchema, { principal, settings: { workspacePath } });
}
