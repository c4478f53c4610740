import { create } from "@bufbuild/protobuf";
import { durationMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type CalledAgent,
  reachableAgents,
  UntoldCancels,
} from "@devtool/coding-agent/delegate";
import {
  type AgentMesh,
  findToolCall,
  findToolCallDetail,
  type Message,
  NoticeSchema,
  type StepRun,
  StepRunSchema,
  type Task,
  type ToolCallDetail,
  ToolCallStatus,
} from "@devtool/schema";
import {
  type Agent,
  type AgentEvent,
  type AgentServices,
  Code,
  DevtoolError,
  quoted,
  type Turn,
} from "@devtool/server/agent";
import { type AgentSlot, AgentSlots } from "./agent-slots.ts";
import { checkMesh } from "./check-mesh.ts";
import { discoveredAgents } from "./discovered-agents.ts";
import { workOf } from "./mesh-call.ts";
import { callPrefix, MeshConversation } from "./mesh-conversation.ts";
import {
  type Picked,
  pickAgents,
  type RoutedMessage,
  routedMessage,
} from "./pick-agents.ts";
import { type CallingOptions, modesOf } from "./reach.ts";
import { textOf } from "./step-result.ts";
import { usableAgents } from "./usable-agents.ts";

/** How long an agent may take until it has a message, in milliseconds. */
const FIRST_EVENT_MS = 30_000;

/**
 * Creates the agent that a mesh is: it gives each message to one of its agents,
 * asks what that agent asks, and answers what it answers.
 *
 * Throws `Code.InvalidArgument` for a mesh that cannot route.
 */
export function meshAgent(
  mesh: AgentMesh,
  options: CallingOptions = {},
): Agent {
  checkMesh(mesh);
  const { name, description } = mesh;
  return {
    about: { name, description: description || `The mesh ${name}.` },
    follows: ["approval_mode", "allowed_tools"],
    open: async (services) => {
      const slots = new AgentSlots(mesh);
      const untold = new UntoldCancels(services);
      const reachOf = async (task: Task): Promise<Reach> => {
        const { remoteAgents: remote = [] } = options;
        const found = await discoveredAgents(mesh, services, remote);
        return reachableAgents(task, {
          services,
          ...options,
          remoteAgents: [...remote, ...found],
          untold,
          modes: (asked) => modesOf(asked, options),
        });
      };
      await untold.resume(async (task) => (await reachOf(task)).agents);
      return {
        createExecutor: () => ({
          continuesFromLog: "unasked",
          execute: (turn, signal) =>
            new Routing(mesh, options, {
              ...{ services, slots, reachOf },
              ...{ turn, signal },
            }).run(),
        }),
        [Symbol.asyncDispose]: async () => untold[Symbol.dispose](),
      };
    },
  };
}

/** The agents that a task of a mesh may call, with those that were found. */
type Reach = ReturnType<typeof reachableAgents>;

interface RoutingPlace {
  readonly services: AgentServices;
  readonly slots: AgentSlots;
  readonly reachOf: (task: Task) => Promise<Reach>;
  readonly turn: Turn;
  readonly signal: AbortSignal;
}

/** One message, on its way to an agent and back. */
class Routing {
  readonly #mesh: AgentMesh;
  readonly #options: CallingOptions;
  readonly #place: RoutingPlace;
  readonly #prompt: Message;
  readonly #conversation: MeshConversation;

  constructor(mesh: AgentMesh, options: CallingOptions, place: RoutingPlace) {
    const { turn } = place;
    const { prompt } = turn;
    if (!prompt) {
      throw new DevtoolError(
        `mesh ${quoted(mesh.name)} has no commands`,
        Code.InvalidArgument,
        { remedy: "send a message" },
      );
    }
    this.#mesh = mesh;
    this.#options = options;
    this.#place = place;
    this.#prompt = prompt;
    this.#conversation = new MeshConversation(
      mesh.name,
      turn,
      prompt.messageId,
    );
  }

  async *run(): AsyncIterable<AgentEvent> {
    const { parts } = this.#prompt;
    const data = parts.flatMap(({ content }) =>
      content.case === "data" ? [content.value] : [],
    );
    const message = routedMessage(textOf(parts), Object.assign({}, ...data));
    const picked = pickAgents(this.#mesh, message, this.#conversation);
    const failures = new Map<string, string>();
    for (let attempt = 1; ; attempt++) {
      const id = `${callPrefix(this.#prompt.messageId)}${attempt}`;
      // A call that was cut with its turn says nothing of its agent.
      if (this.#wasCut(id)) continue;
      if (!this.#detail(id)?.stepRun?.endTime) {
        yield* this.#give(id, attempt, message, picked, failures);
      }
      const { stepRun, delegation } = this.#detail(id) ?? {};
      if (!stepRun || !delegation) {
        throw new DevtoolError(`call ${quoted(id)} has no end`, Code.Internal);
      }
      const { result, error, isFinal } = stepRun;
      if (result) {
        yield* this.#place.turn.say(`${result.text ?? ""}`);
        return;
      }
      failures.set(delegation.agent, error);
      // What has begun is not repeated.
      if (isFinal || delegation.taskId !== "") throw noAnswer(failures);
    }
  }

  /** Has the next agent work on the message, or goes on with that. */
  async *#give(
    id: string,
    attempt: number,
    message: RoutedMessage,
    picked: Picked,
    failures: ReadonlyMap<string, string>,
  ): AsyncIterable<AgentEvent> {
    const { turn, reachOf } = this.#place;
    const { agents, chain } = await reachOf(turn.task);
    const begun = this.#detail(id);
    const before = begun?.delegation;
    const names = new Set(picked.names.filter((name) => !failures.has(name)));
    if (before) names.add(before.agent);
    if (names.size === 0) throw noAnswer(failures);
    const { able, errors } = usableAgents([...names], agents, {
      task: turn.task,
      options: this.#options,
    });
    const choice = before
      ? able.filter(({ name }) => name === before.agent)
      : able;
    const [preferred] = choice;
    if (!preferred) throw errors[0] ?? noAnswer(failures);
    const free = freeOf(choice, this.#place.slots);
    if (!free) {
      yield notice(
        `Agent ${preferred.name} is busy: the message waits until it has ended another.`,
      );
    }
    const agent = free?.agent ?? preferred;
    const { slots, signal } = this.#place;
    using slot = free?.slot ?? (await slots.take(agent.name, signal));
    const reason = whyPicked(picked, errors, failures);
    if (!begun) yield notice(`Agent ${agent.name} has the message: ${reason}.`);
    const run = begun?.stepRun ?? this.#newRun(picked, attempt, reason);
    const isLast = able.length === 1 || before?.taskId;
    // Whole again after a restart: the time without a server does not count.
    const limitMs = isLast ? Number.POSITIVE_INFINITY : this.#firstEventMs();
    yield* workOf(
      { id, agent, chain, message, begun: run, slot, limitMs },
      {
        ...this.#place,
        prompt: this.#prompt,
        conversation: this.#conversation,
        silenceMs: this.#options.silenceMs,
      },
    );
  }

  #firstEventMs(): number {
    const { firstEventTimeout } = this.#mesh;
    return firstEventTimeout ? durationMs(firstEventTimeout) : FIRST_EVENT_MS;
  }

  #detail(id: string): ToolCallDetail | undefined {
    return findToolCallDetail(this.#place.turn.task, id);
  }

  /** Whether a call ended with a turn before, as by a budget. */
  #wasCut(id: string): boolean {
    const call = findToolCall(this.#place.turn.task, id);
    return (
      call?.status === ToolCallStatus.CANCELLED &&
      !this.#detail(id)?.stepRun?.endTime
    );
  }

  #newRun({ rule }: Picked, attempt: number, reason: string): StepRun {
    return create(StepRunSchema, {
      path: rule,
      attempt,
      reason,
      startTime: timestampFromDate(this.#place.services.now()),
    });
  }
}

function notice(text: string): AgentEvent {
  return { case: "notice", value: create(NoticeSchema, { text }) };
}

/** Takes the first agent that is free. */
function freeOf(
  agents: readonly CalledAgent[],
  slots: AgentSlots,
): { readonly agent: CalledAgent; readonly slot: AgentSlot } | undefined {
  for (const agent of agents) {
    const slot = slots.tryTake(agent.name);
    if (slot) return { agent, slot };
  }
  return undefined;
}

/** Writes why an agent has the message, and why not those before it. */
function whyPicked(
  { reason }: Picked,
  errors: readonly DevtoolError[],
  failures: ReadonlyMap<string, string>,
): string {
  const others = [
    ...[...failures].map(([name, why]) => `${name} did not take it (${why})`),
    ...errors.map(({ problem }) => problem),
  ];
  return [reason, ...others].join("; ");
}

function noAnswer(failures: ReadonlyMap<string, string>): DevtoolError {
  const all = [...failures].map(([name, why]) => `${name}: ${why}`);
  return new DevtoolError(`no agent answers: ${all.join("; ")}`, Code.Aborted);
}
