import type { ApprovalMode } from "@devtool/schema";
import type { LoopLimits } from "./agent/loop-guard.ts";
import type { Model } from "./agent/model.ts";
import type { RemoteAgent } from "./delegate/remote-agents.ts";
import type { Ide } from "./tool/ide.ts";
import type { Mcp } from "./tool/mcp.ts";
import type { Tool } from "./tool/tool.ts";

/** Limits of the coding agent's tools. */
export interface ToolLimits {
  /**
   * The maximum duration of a shell command in milliseconds. Default: 10
   * minutes.
   */
  readonly commandTimeoutMs: number;
  /**
   * The maximum number of characters of a command's output that are kept.
   *
   * Of longer output, the end is kept. Default: 65536.
   */
  readonly maxOutputLength: number;
}

/** The default limits of the tools. */
export const DEFAULT_TOOL_LIMITS: ToolLimits = {
  commandTimeoutMs: 10 * 60_000,
  maxOutputLength: 64 * 1024,
};

/** Options of the coding agent. All of them have defaults. */
export interface CodingAgentOptions {
  /**
   * The model.
   *
   * Default: the scripted model, which plays prompts as scripts and needs no
   * API key.
   */
  readonly model?: Model;
  /**
   * Additional tools.
   *
   * The policy applies to them as to the built-in tools. A tool replaces a
   * built-in tool of the same name. Default: none.
   */
  readonly tools?: readonly Tool[];
  /**
   * The names of the built-in tools that the agent has. Default: all of them.
   */
  readonly builtinTools?: readonly string[];
  /** The maximum number of steps per turn. Default: 200. */
  readonly maxSteps?: number;
  /**
   * Limits at which a model that repeats itself is stopped. Default: those of
   * `LoopLimits`.
   */
  readonly loopLimits?: Partial<LoopLimits>;
  /**
   * Support for MCP servers: `createMcp(options)` of `@devtool/mcp`.
   *
   * It provides the operator's servers to every session, and connects to those
   * that clients bring. Default: none, and tasks of clients that bring MCP
   * servers fail.
   */
  readonly mcp?: Mcp;
  /**
   * The editors of the server's user, whose context the model is given and
   * which show proposed changes, in workspaces that the operator trusts.
   * Default: none.
   */
  readonly ide?: Ide;
  /**
   * The sandbox for the processes that tools start.
   *
   * `auto` uses bubblewrap if it works on this machine, otherwise `srt` of
   * `@anthropic-ai/sandbox-runtime` if it does, otherwise none. `bwrap` and `srt`
   * require that one. Default: `auto`.
   */
  readonly sandbox?: "auto" | "none" | "bwrap" | "srt";
  /**
   * The operator's policy files: absolute paths.
   *
   * Their rules take precedence over `policy.toml` in the data directory.
   * Default: none.
   */
  readonly policyFiles?: readonly string[];
  /**
   * The addresses on private networks that `web_fetch` may reach, as
   * `host:port` or `host:*`. Default: none.
   */
  readonly fetchTargets?: readonly string[];
  /**
   * Which calls run without approval.
   *
   * A session can only choose a stricter mode. Default: every change needs
   * approval.
   */
  readonly approvalMode?: ApprovalMode;
  /**
   * Agents elsewhere that the agent may give work to, over A2A, in tasks of the
   * operator. It may call the other agents of its server anyway, and each call
   * asks. Default: none.
   */
  readonly remoteAgents?: readonly RemoteAgent[];
  /**
   * A directory with agents of the operator's, in the files of Gemini CLI
   * (`~/.gemini/agents`), for tasks of the operator. Those of a trusted
   * workspace (`.gemini/agents`) are used in any case. Default: none.
   */
  readonly agentDirectory?: string;
  /**
   * Limits of calls of other agents: how many may call each other in a row (0
   * turns calls off), how many calls one task makes, and for how many
   * milliseconds an agent that works may say nothing before its task is
   * canceled. Default: 3, 16 and 30 minutes.
   */
  readonly agentCalls?: {
    readonly maxDepth?: number;
    readonly maxCalls?: number;
    readonly silenceMs?: number;
  };
  /** Limits of the tools. Default: those of `ToolLimits`. */
  readonly toolLimits?: Partial<ToolLimits>;
}
