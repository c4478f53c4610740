import { setTimeout as delay } from "node:timers/promises";
import { type ArtifactUpdate, type Message, type Part, Role, type Task, TaskState, takesMode } from "@devtool/schema";
import type { Agent } from "../agent/agent.ts";
import type { AgentEvent, Turn } from "../agent/agent-executor.ts";
import { ASK, BEHAVIOURS, type Behaviour, behaviourOf, COMPLETE, firstText, type Step } from "./behaviours.ts";

/** How the test agent behaves where the kits differ. */
export interface TckAgentOptions {
  /** Where a message that asks for no behaviour leaves its task: ended, or waiting for the next message. */
  readonly ordinary: "completed" | "input-required";
  /** What the kits call their streaming timeout; waits are times of it. In milliseconds. */
  readonly streamingTimeoutMs: number;
}

/**
 * Makes the agent that the A2A test kits talk to (docs/test-kits.md): what it does is in the message, so a kit needs no other
 * way to say it. It has no tools, no model and no workspace.
 */
export function createTckAgent(options: TckAgentOptions): Agent {
  return {
    about: {
      name: "devtool test agent",
      description: "Does what the messages of A2A test kits ask for. It has no tools.",
      skills: [
        { id: "as-asked", name: "Do as asked", description: "Plays a row of docs/test-kits.md.", tags: ["test"] },
      ],
    },
    servesAnonymous: true,
    open: () => ({
      createExecutor: () => ({
        answersWith,
        modelFor: () => "",
        execute: (turn, signal) => execute(options, turn, signal),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
    }),
  };
}

function answersWith({ history }: Task): "task" | "message" {
  const steps = history[0] && behaviourOf(history[0])?.steps;
  return steps?.some((step) => step.case === "reply") ? "message" : "task";
}

async function* execute(options: TckAgentOptions, { task }: Turn, signal: AbortSignal): AsyncIterable<AgentEvent> {
  const said = task.history.filter(({ role }) => role === Role.USER);
  const [first, last] = [said[0], said.at(-1)];
  if (!first || !last) return;
  for (const step of stepsFor(first, last, options)) yield* play(step, { ...options, last }, signal);
}

/** What is to be done: as the last message asks, or as the behaviour of its task goes on, or what is ordinary. */
function stepsFor(first: Message, last: Message, { ordinary }: TckAgentOptions): readonly Step[] {
  const asked = behaviourOf(last);
  if (asked) return asked.steps;
  if (firstText(last).startsWith("tck-")) return unknownBehaviour(firstText(last));
  const begun = first === last ? undefined : behaviourOf(first);
  if (begun) return nextSteps(begun, firstText(last));
  return ordinary === "completed" ? COMPLETE : ASK;
}

function nextSteps({ next }: Behaviour, text: string): readonly Step[] {
  return next?.(text) ?? COMPLETE;
}

function unknownBehaviour(text: string): readonly Step[] {
  const [name = ""] = text.split(/\s/, 1);
  const choices = BEHAVIOURS.map(({ prefix }) => prefix).toSorted();
  const words = `behaviour ${JSON.stringify(name.slice(0, 80))} does not exist: choose ${choices.join(", ")}`;
  return [{ case: "end", value: { state: TaskState.FAILED, text: words } }];
}

interface Stage extends TckAgentOptions {
  /** The message that is answered. */
  readonly last: Message;
}

async function* play(step: Step, { streamingTimeoutMs, last }: Stage, signal: AbortSignal): AsyncIterable<AgentEvent> {
  switch (step.case) {
    case "artifact": {
      const value = accepted(step.value, last.acceptedOutputModes);
      if (value) yield { case: "artifact", value };
      return;
    }
    case "wait":
      await delay(step.timeouts * streamingTimeoutMs, undefined, { signal });
      return;
    case "idle":
      return aborted(signal);
    case "reply":
      return yield { case: "reply", value: step.parts };
    case "end":
      return yield step;
    default:
      return step satisfies never;
  }
}

/** An artifact without what its client does not take; undefined when nothing is left of it. */
function accepted(update: ArtifactUpdate, modes: readonly string[]): ArtifactUpdate | undefined {
  const { artifact } = update;
  if (!artifact) return undefined;
  const parts = artifact.parts.filter((part) => takesMode(modes, mediaTypeOf(part)));
  return parts.length === 0 ? undefined : { ...update, artifact: { ...artifact, parts } };
}

function mediaTypeOf({ content, mediaType }: Part): string {
  if (content.case === "file") return content.value.mediaType;
  if (mediaType !== "") return mediaType;
  return content.case === "data" || content.case === "dataValue" ? "application/json" : "text/plain";
}

function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}
