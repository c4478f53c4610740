import type { AgentThought, Citation, Notice, Summary, Task, Usage } from "@devtool/schema";
import type { CallUpdate } from "../tool/call-update.ts";
import type { Confirmations } from "../tool/confirmations.ts";

/** What an agent does, as its session records it. */
export type AgentEvent =
  | { readonly case: "text"; readonly value: string }
  | { readonly case: "thought"; readonly value: AgentThought }
  | { readonly case: "citation"; readonly value: Citation }
  | { readonly case: "usage"; readonly value: Usage }
  | { readonly case: "notice"; readonly value: Notice }
  /** Stands for the conversation before it from now on. */
  | { readonly case: "summary"; readonly value: Summary }
  /** Tool calls in their new form. They are recorded together, and are durable before the agent goes on. */
  | { readonly case: "toolCalls"; readonly value: readonly CallUpdate[] };

/** What an agent works on: from a client's message, or from an approval after a restart, to the end of its work. */
export interface Turn {
  /** The task as its log has it now; reading it again gives what was recorded since. */
  readonly task: Task;
  /** Where answers to questions arrive. */
  readonly confirmations: Confirmations;
}

/**
 * Acts on a task. The seam for whole agents: our own loop, a slash command, an ACP subprocess.
 *
 * `execute` looks at `turn.task` to see what there is to do, so it also continues a turn that a restart cut. It returns
 * when the work is done, throws when it cannot be done (the task fails with the message of a `DevtoolError`), and ends
 * soon after `signal` aborts, with every process it started.
 */
export interface AgentExecutor extends AsyncDisposable {
  /** The name of the model that answers a task as it is now; empty when none does. */
  modelFor(task: Task): string | Promise<string>;
  execute(turn: Turn, signal: AbortSignal): AsyncIterable<AgentEvent>;
}
