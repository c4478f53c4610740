import type { ApprovalMode } from "@devtool/schema";
import type { LoopLimits } from "./agent/loop-guard.ts";
import type { Model } from "./agent/model.ts";
import type { Mcp } from "./tool/mcp.ts";
import type { Tool } from "./tool/tool.ts";

/** The limits of the coding agent's tools. */
export interface ToolLimits {
  /** Maximum duration of a shell command in milliseconds. Default: 10 minutes. */
  readonly commandTimeoutMs: number;
  /** Maximum number of characters of a command's output that are kept, the newest. Default: 65536. */
  readonly maxOutputBytes: number;
}

/** The options of the coding agent. Everything has a default; without any the scripted model thinks, which needs no key. */
export interface CodingAgentOptions {
  /** The model that thinks. Default: the scripted model, which needs no key. */
  readonly model?: Model;
  /**
   * Tools beside the built-in ones, which the policy judges and asks about like those. One with the name of a built-in tool
   * takes its place. Default: none.
   */
  readonly tools?: readonly Tool[];
  /** The names of the built-in tools that the agent has. Default: all. */
  readonly builtinTools?: readonly string[];
  /** The maximum number of steps of a turn. Default 200. */
  readonly maxSteps?: number;
  /** When a model that repeats itself is stopped, whichever it is. Default: those of `LoopLimits`. */
  readonly loopLimits?: Partial<LoopLimits>;
  /**
   * The MCP servers of every session, and those that clients bring: `createMcp(options)` of `@devtool/mcp`. Default: none, and a task
   * whose client brings some fails.
   */
  readonly mcp?: Mcp;
  /** What confines the processes of tools. Default `auto`: bubblewrap where it works, nothing elsewhere. */
  readonly sandbox?: "auto" | "none" | "bwrap";
  /** The operator's policy files: absolute paths. They outrank `policy.toml` in the data directory. Default: none. */
  readonly policyFiles?: readonly string[];
  /** What `web_fetch` may reach although it is not public, as `host:port`. Default: nothing. */
  readonly fetchTargets?: readonly string[];
  /** How far the agent may go without asking; a session can only narrow it. Default: ask before every change. */
  readonly approvalMode?: ApprovalMode;
  /** The limits of its tools. Default: those of `ToolLimits`. */
  readonly toolLimits?: Partial<ToolLimits>;
}

/** Limits with their defaults filled in. */
export function toolLimitsOf(limits: Partial<ToolLimits> = {}): ToolLimits {
  return { commandTimeoutMs: 10 * 60_000, maxOutputBytes: 64 * 1024, ...limits };
}
