import type { JsonObject } from "@bufbuild/protobuf";
import type { ApprovalMode } from "@devtool/schema";
import type { IdeContexts, PermissionPolicy } from "@devtool/server/agent";

/** Options of `codexAgent`. */
export interface CodexOptions {
  /**
   * The program and its arguments. Default: `codex app-server`, from the search
   * path.
   */
  readonly command?: readonly string[] | undefined;

  /**
   * The environment of the program; nothing else is inherited. Codex needs
   * `HOME` or `CODEX_HOME` and `PATH`, and the variable with its API key if it
   * uses one. Default: the environment of this process, without variables whose
   * names begin with `DEVTOOL_`.
   */
  readonly environment?: Readonly<Record<string, string>> | undefined;

  /**
   * The model. Sessions and messages may choose another one. Default: that of
   * Codex's configuration.
   */
  readonly model?: string | undefined;

  /**
   * What Codex may do without approval. Sessions can only be stricter. Default:
   * `DEFAULT`, in which it asks before each command and each change.
   */
  readonly approvalMode?: ApprovalMode | undefined;

  /**
   * Decides about Codex's commands and changes before the user is asked, for
   * example by a policy. Default: the user decides about all of them.
   *
   * The audit names the rule of the decision. When it throws, the user is
   * asked.
   */
  readonly permission?: PermissionPolicy | undefined;

  /**
   * The editors of the server's user. In the operator's sessions, turns say
   * what they show, as context that Codex does not trust. Default: none.
   */
  readonly ide?: IdeContexts | undefined;

  /**
   * Settings of Codex (keys of its `config.toml`) for all threads. Default:
   * none.
   */
  readonly config?: JsonObject | undefined;

  /**
   * The timeout of a request to the app-server, in milliseconds. A request that
   * is not answered in time fails with `Code.Unavailable`. A turn has no
   * timeout. Default: 30,000.
   */
  readonly requestTimeoutMs?: number | undefined;

  /**
   * The maximum number of app-servers that are kept running for conversations
   * in which Codex does not work. The next message to one of the others starts
   * an app-server, which resumes its thread. Default: 4.
   */
  readonly maxIdleProcesses?: number | undefined;
}
