import { readFileSync } from "node:fs";

/** One step of what an agent does; every server of the interop tests plays the same. */
export interface Step {
  readonly state?: string;
  readonly kind?: string;
  readonly text?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  /** Makes an artifact of this text. */
  readonly artifact?: string;
  readonly waitMs?: number;
  /** Stays at work until it is canceled. */
  readonly hold?: boolean;
}

const SCRIPTS: Readonly<Record<string, readonly Step[]>> = JSON.parse(
  readFileSync(process.env.INTEROP_SCRIPT ?? "", "utf8"),
);

/** The steps that answer a text; a message without text answers a question. */
export function stepsFor(text: string | undefined): readonly Step[] {
  return SCRIPTS[text ?? "answer"] ?? [{ state: "failed", text: `no script is named ${text}` }];
}

/** Plays steps in order, as long as nobody cancels. */
export async function playSteps(
  steps: readonly Step[],
  publish: (step: Step) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const step of steps) {
    if (signal.aborted) return;
    if (step.hold) await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    else if (step.waitMs !== undefined) await new Promise((resolve) => setTimeout(resolve, step.waitMs));
    else publish(step);
  }
}

/** The parts of a card that all servers have. */
export const CARD = {
  name: "interop",
  description: "Plays what the interop tests ask for.",
  version: "1.0.0",
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
} as const;
