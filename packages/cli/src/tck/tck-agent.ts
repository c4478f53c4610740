import { setTimeout as delay } from "node:timers/promises";
import { abortable } from "@devtool/internal/abortable";
import { keepStart } from "@devtool/internal/cut-text";
import { takesMode } from "@devtool/internal/output-mode";
import {
  type ArtifactUpdate,
  type Message,
  Role,
  TaskState,
} from "@devtool/schema";
import type { Agent, AgentEvent } from "@devtool/server/agent";
import {
  ASK,
  BEHAVIOURS,
  type BehaviourStep,
  COMPLETE,
  findBehaviour,
  firstText,
} from "./behaviours.ts";

/** Options of the test agent where the kits differ. */
interface TckAgentOptions {
  /** The state of a task after a message that requests no behaviour. */
  readonly ordinary: "completed" | "input-required";
  /**
   * The streaming timeout of the kit in milliseconds. Waits are multiples of
   * it.
   */
  readonly streamingTimeoutMs: number;
}

/**
 * Creates the agent for the A2A test kits (docs/test-kits.md).
 *
 * Each message requests its behaviour by a prefix. The agent has no tools, no
 * model and no workspace.
 */
export function createTckAgent(options: TckAgentOptions): Agent {
  return {
    about: {
      name: "devtool test agent",
      description:
        "Does what the messages of A2A test kits ask for. It has no tools.",
      skills: [
        {
          id: "as-asked",
          name: "Do as asked",
          description: "Plays a row of docs/test-kits.md.",
          tags: ["test"],
        },
      ],
    },
    servesAnonymous: true,
    open: () => ({
      createExecutor: () => ({
        answersWith: ({ history: [first] }) => {
          const steps = (first && findBehaviour(first)?.steps) ?? [];
          return steps.some((step) => step.case === "reply")
            ? "message"
            : "task";
        },
        async *execute({ task }, signal): AsyncIterable<AgentEvent> {
          const prompts = task.history.filter(({ role }) => role === Role.USER);
          const [first, last] = [prompts[0], prompts.at(-1)];
          if (!first || !last) return;
          for (const step of stepsFor(first, last, options)) {
            yield* play(step, last, options, signal);
          }
        },
      }),
    }),
  };
}

/**
 * Returns the steps that the last message requests, else those that continue
 * the first message's behaviour.
 */
function stepsFor(
  first: Message,
  last: Message,
  { ordinary }: TckAgentOptions,
): readonly BehaviourStep[] {
  const requested = findBehaviour(last);
  if (requested) return requested.steps;
  const text = firstText(last);
  if (text.startsWith("tck-")) {
    const [name = ""] = text.split(/\s/, 1);
    const choices = BEHAVIOURS.map(({ prefix }) => prefix).toSorted();
    const problem = `behaviour ${JSON.stringify(keepStart(name, 80))} does not exist: choose ${choices.join(", ")}`;
    return [{ case: "end", value: { state: TaskState.FAILED, text: problem } }];
  }
  const started = first === last ? undefined : findBehaviour(first);
  if (started) return started.next?.(text) ?? COMPLETE;
  return ordinary === "completed" ? COMPLETE : ASK;
}

/** Plays one step of the answer to a message. */
async function* play(
  step: BehaviourStep,
  message: Message,
  { streamingTimeoutMs }: TckAgentOptions,
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  switch (step.case) {
    case "artifact": {
      const value = acceptedParts(step.value, message.acceptedOutputModes);
      if (value) yield { case: "artifact", value };
      return;
    }
    case "wait":
      await delay(step.timeouts * streamingTimeoutMs, undefined, { signal });
      return;
    case "idle":
      return abortable(new Promise<never>(() => undefined), signal);
    case "reply":
      return yield { case: "reply", value: step.parts };
    case "end":
      return yield step;
    default:
      return step satisfies never;
  }
}

/**
 * Returns an artifact with the parts that its client accepts; undefined when it
 * accepts none.
 */
function acceptedParts(
  update: ArtifactUpdate,
  modes: readonly string[],
): ArtifactUpdate | undefined {
  const { artifact } = update;
  if (!artifact) return undefined;
  const parts = artifact.parts.filter(({ content, mediaType }) => {
    if (content.case === "file") {
      return takesMode(modes, content.value.mediaType);
    }
    const isData = content.case === "data" || content.case === "dataValue";
    return takesMode(
      modes,
      mediaType || (isData ? "application/json" : "text/plain"),
    );
  });
  return parts.length === 0
    ? undefined
    : { ...update, artifact: { ...artifact, parts } };
}
