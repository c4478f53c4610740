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
import { ApprovalMode, type IdeContext } from "@devtool/schema";
import type { IdeContexts } from "@devtool/server/agent";
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
    async [Symbol.asyncDispose]() {
      if (isUsed) await (await links())[Symbol.asyncDispose]();
    },
  };
}

/** Dependencies of `OperatorIde`. */
export interface OperatorIdeOptions {
  readonly ide: Ide;
  readonly dataDirectory: string;
  readonly policyFiles?: readonly string[];
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
      return new UserIde({ ide, operator: OPERATOR.principal, trust });
    });
  }

  /** Returns the editor of a workspace, or why there is none. */
  async connect(
    workspacePath: string,
    signal: AbortSignal,
  ): Promise<IdeConnection> {
    const user = await this.#load();
    return user.connect(placeOf(workspacePath), signal);
  }

  /** Reads as `read` does; rejects with what is in the way. */
  async context(
    workspacePath: string,
    signal: AbortSignal,
  ): Promise<IdeContext | undefined> {
    const { rules } = await this.#rules();
    const decideReading = createReadDecision(rules, {
      workspace: workspacePath,
      mode: ApprovalMode.DEFAULT,
      caller: callerOfTask(OPERATOR),
    });
    const user = await this.#load();
    return await user.context(placeOf(workspacePath), decideReading, signal);
  }

  async read(
    workspacePath: string,
    signal: AbortSignal,
  ): Promise<IdeContext | undefined> {
    try {
      return await this.context(workspacePath, signal);
    } catch (reason) {
      const why = reason instanceof Error ? reason.message : String(reason);
      this.#options.onNotice(`the editor is left out: ${why}`);
      return undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.ide[Symbol.asyncDispose]();
  }
}

function placeOf(workspacePath: string): Parameters<UserIde["connect"]>[0] {
  return { principal: OPERATOR.principal, contextId: "", workspacePath };
}
