import { readFileSync } from "node:fs";

/**
 * One step of an agent. Every server of the interop tests plays the same steps.
 */
export interface Step {
  readonly state?: string;
  readonly kind?: string;
  readonly text?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  /** Answers with a message of this text, and without a task. */
  readonly message?: string;
  /** Sends an artifact with this text. */
  readonly artifact?: string;
  readonly waitMs?: number;
  /** Keeps running until the task is canceled. */
  readonly hold?: boolean;
}

const SCRIPTS: Readonly<Record<string, readonly Step[]>> = JSON.parse(
  readFileSync(process.env.INTEROP_SCRIPT ?? "", "utf8"),
);

/** Returns the steps for a text. Anything else is an answer to a question. */
export function stepsFor(text: string | undefined): readonly Step[] {
  return (
    SCRIPTS[text ?? "answer"] ??
    SCRIPTS["*"] ?? [{ state: "failed", text: `no script is named ${text}` }]
  );
}

/** Plays steps in order until the signal aborts. */
export async function playSteps(
  steps: readonly Step[],
  publish: (step: Step) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const step of steps) {
    if (signal.aborted) return;
    if (step.hold) {
      await new Promise<void>((resolve) =>
        signal.addEventListener("abort", () => resolve()),
      );
    } else if (step.waitMs !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, step.waitMs));
    } else {
      publish(step);
    }
  }
}

/** Whether the steps begin with a task, and not with a message. */
export function openTask([first]: readonly Step[]): boolean {
  return first?.message === undefined;
}

/** The fields of the card that all servers share. */
export const CARD = {
  name: "interop",
  description: "Plays what the interop tests ask for.",
  version: "1.0.0",
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
} as const;
