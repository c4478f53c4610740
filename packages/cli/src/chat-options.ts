import type { ListedAgent } from "@devtool/schema";
import type { Connection, ConnectionOptions } from "./connection/connection.ts";
import type { Io } from "./io.ts";
import type { NewSessionOptions } from "./session.ts";
import type { ForkOptions } from "./user-messages.ts";

/** The options of `devtool chat`. */
export interface ChatOptions
  extends ConnectionOptions,
    NewSessionOptions,
    ForkOptions {
  readonly workspace?: string;
  readonly task?: string;
  /** Whether to continue the last conversation in the workspace. */
  readonly continue?: true;
  /**
   * How to answer the agent's questions: `ask`, `never` or `all`. Default:
   * `ask`.
   */
  readonly approve?: string;
  /** Whether `all` also approves running commands without the sandbox. */
  readonly approveWithoutSandbox?: true;
}

/** Dependencies of a chat. */
export interface ChatDependencies {
  readonly connection: Connection;
  readonly options: ChatOptions;
  /** The agents of the server; none where they are not known. */
  readonly agents: readonly ListedAgent[];
  readonly io: Io;
  /**
   * Registers the listener that receives a message when the connection is lost,
   * and when it is restored.
   */
  readonly onNotice: (listener: (text: string) => void) => void;
}
