import type {
  IdeContexts,
  PermissionPolicy,
  Skill,
} from "@devtool/server/agent";

/** The options of `acpAgent`. */
export interface AcpAgentOptions {
  /** The display name of the agent, in its card and in messages. */
  readonly name: string;

  /** What the agent does, for the card. Default: a sentence with the name. */
  readonly description?: string | undefined;

  /**
   * The agent's skills, for the card. Default: one skill with the name and the
   * description.
   */
  readonly skills?: readonly Skill[] | undefined;

  /**
   * The media types that the card says the agent accepts. Default: text and
   * JSON.
   */
  readonly inputModes?: readonly string[] | undefined;

  /**
   * The program that speaks ACP on its standard input and output, or a function
   * that connects to one. It is called for each session, since each has a
   * connection of its own.
   */
  readonly command: AcpCommand | AcpConnect;

  /**
   * The mode of each session: the id of one of the agent's modes, set before
   * each prompt. A session in the approval mode `plan` gets `planMode` instead.
   * Default: the agent's own default.
   */
  readonly mode?: string | undefined;

  /**
   * The agent's mode for sessions that ask for the approval mode `plan`.
   * Default: the mode with the id `plan`. A session that asks for it is refused
   * by an agent that has no such mode.
   */
  readonly planMode?: string | undefined;

  /**
   * Values of the agent's configuration options by id, set before each prompt,
   * and before those that the client asks for. In the approval mode `plan`,
   * options of the category `mode` are left as they are. Default: none.
   */
  readonly configOptions?:
    | Readonly<Record<string, string | boolean>>
    | undefined;

  /**
   * Ids of the configuration options that clients may set
   * (`SessionSettings.agentOptions`). Name none that lets the agent do more
   * than you allow, such as its sandbox. Default: those of the category
   * `thought_level`, unless `configOptions` sets them.
   */
  readonly clientOptions?: readonly string[] | undefined;

  /**
   * The id of the authentication method to use when the agent requires a login.
   * Default: none, and the task waits in `auth-required` with a text that names
   * the methods.
   */
  readonly authMethod?: string | undefined;

  /**
   * Decides about the agent's permission requests before the user is asked, for
   * example by a policy, and about files and commands of `clientMethods` that
   * no approved call covers. Default: the user decides about all of them;
   * reading needs no decision.
   *
   * The audit names the rule of the decision. When it throws, the user is
   * asked.
   */
  readonly permission?: PermissionPolicy | undefined;

  /**
   * Which methods of the client the agent may use. Default: it writes files
   * with `fs/write_text_file`; it reads files and runs commands itself.
   */
  readonly clientMethods?: ClientMethods | undefined;

  /**
   * The editors of the server's user. In the operator's sessions, prompts say
   * what they show: as an embedded resource where the agent accepts these,
   * otherwise as text. Default: none.
   */
  readonly ide?: IdeContexts | undefined;

  /** Limits and timeouts. */
  readonly limits?: Partial<AcpLimits> | undefined;
}

/**
 * A program that speaks ACP. It is started without a shell, in a process group
 * of its own.
 */
export interface AcpCommand {
  /** The program: a name that is looked up in `PATH`, or an absolute path. */
  readonly command: string;

  /** The arguments. Default: none. */
  readonly args?: readonly string[] | undefined;

  /**
   * Environment variables in addition to the few that a process needs: `PATH`,
   * `HOME`, the locale, `TERM`, `TMPDIR` and the user's name. Nothing else of
   * the server's environment is inherited. Default: none.
   */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

/**
 * Connects to an agent that is not a child process.
 *
 * @param workspacePath the absolute path of the session's workspace
 */
export type AcpConnect = (
  workspacePath: string,
  signal: AbortSignal,
) => Promise<AcpPipe>;

/**
 * The byte streams of one agent: newline-delimited JSON-RPC in both directions.
 */
export interface AcpPipe extends AsyncDisposable {
  /** The bytes that the agent sends. */
  readonly output: AsyncIterable<Uint8Array>;

  /**
   * Sends text to the agent: one message, with the line break after it.
   * Returns false when the agent accepts no more input.
   */
  write(text: string): boolean;

  /**
   * Ends the agent at once, because it broke a limit. Default: it is only
   * disposed of.
   */
  kill?(): void;

  /**
   * The number of bytes that the agent has not read yet. Beyond 16 MiB it is
   * ended. Default: 0.
   */
  readonly unreadBytes?: number | undefined;

  /**
   * Resolves when the agent has ended, to a description such as
   * `it ended with exit code 1`, which operators and errors are told after the
   * agent's name.
   */
  readonly ended: Promise<string>;

  /**
   * The end of the agent's standard error, for the operator. Default: empty.
   */
  readonly lastWords?: string | undefined;
}

/** Which methods of the client an agent may use. */
export interface ClientMethods {
  /**
   * Whether the agent reads files of the workspace with `fs/read_text_file`.
   * Default false: gemini-cli fails to create files when it does.
   */
  readonly readTextFile?: boolean | undefined;
  /**
   * Whether the agent writes files of the workspace with `fs/write_text_file`.
   * A directory that is missing is not created. Default true.
   */
  readonly writeTextFile?: boolean | undefined;
  /**
   * Whether the agent runs commands with `terminal/*`. They start in the
   * workspace, without a shell and without a sandbox. Default false: the agent
   * runs them itself.
   */
  readonly terminal?: boolean | undefined;
}

/** Limits of what an agent may do, and timeouts. */
export interface AcpLimits {
  /**
   * The time within which the agent must answer `initialize` and open a
   * session, in milliseconds. Default: 30,000.
   */
  readonly startTimeoutMs: number;
  /**
   * The time within which the agent must end a canceled turn, in milliseconds.
   * It is killed after that. Default: 3,000.
   */
  readonly cancelTimeoutMs: number;
  /**
   * The maximum size of one message of the agent, in bytes, and of a file that
   * it reads through the client. A longer message ends the agent. Default:
   * 8 MiB.
   */
  readonly maxMessageBytes: number;
  /**
   * The maximum number of messages of the agent within a second. One more ends
   * the agent. Default: 5,000.
   */
  readonly maxMessagesPerSecond: number;
  /**
   * The maximum number of agents that are kept running without a turn. Beyond
   * it, those that have been idle longest are ended; the next message of their
   * conversations starts them again. Default: 4.
   */
  readonly maxIdle: number;
}
