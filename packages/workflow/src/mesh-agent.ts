import { create } from "@bufbuild/protobuf";
import { durationMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type CalledAgent,
  reachableAgents,
  runDelegated,
} from "@devtool/coding-agent/delegate";
import {
  type AgentMesh,
  ArtifactUpdateSchema,
  findToolCall,
  findToolCallDetail,
  isEnded,
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
import { callPrefix, MeshConversation } from "./mesh-conversation.ts";
import {
  type Picked,
  pickAgents,
  type RoutedMessage,
  routedMessage,
} from "./pick-agents.ts";
import {
  type CallingOptions,
  isElsewhere,
  modesOf,
  narrowedBy,
} from "./reach.ts";
import { textOf } from "./step-result.ts";
import { endedRun } from "./step-run.ts";

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
    open: (services) => {
      const slots = new AgentSlots(mesh);
      return {
        createExecutor: () => ({
          continuesFromLog: "unasked",
          execute: (turn, signal) =>
            new Routing(mesh, options, { services, slots, turn, signal }).run(),
        }),
      };
    },
  };
}

interface RoutingPlace {
  readonly services: AgentServices;
  readonly slots: AgentSlots;
  readonly turn: Turn;
  readonly signal: AbortSignal;
}

/** A message that an agent gets. */
interface Work {
  /** The id of the call. */
  readonly id: string;
  readonly agent: CalledAgent;
  /** The agents down to the mesh, as a `CallChain` has them. */
  readonly chain: readonly string[];
  readonly message: RoutedMessage;
  readonly begun: StepRun;
  readonly slot: AgentSlot;
  /** How long the agent may take until it has the message, in milliseconds. */
  readonly limitMs: number;
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
    const picked = pickAgents(this.#mesh, message, this.#conversation.agent);
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
    const { turn, services } = this.#place;
    const { agents, chain } = reachableAgents(turn.task, {
      services,
      ...this.#options,
      modes: (task) => modesOf(task, this.#options),
    });
    const begun = this.#detail(id);
    const before = begun?.delegation;
    const names = new Set(picked.names.filter((name) => !failures.has(name)));
    if (before) names.add(before.agent);
    if (names.size === 0) throw noAnswer(failures);
    const { able, errors } = this.#ableOf([...names], agents);
    const choice = before
      ? able.filter(({ name }) => name === before.agent)
      : able;
    const [preferred] = choice;
    if (!preferred) throw errors[0] ?? noAnswer(failures);
    const free = this.#freeOf(choice);
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
    yield* this.#work({ id, agent, chain, message, begun: run, slot, limitMs });
  }

  async *#work({
    id,
    agent,
    chain,
    message,
    begun,
    slot,
    limitMs,
  }: Work): AsyncIterable<AgentEvent> {
    const { turn, services, signal } = this.#place;
    using waiting = new FirstEvent();
    waiting.start(limitMs);
    let child: Task | undefined;
    const updates = runDelegated(
      {
        toolCallId: id,
        agent,
        message: message.text,
        data: Object.keys(message.data).length > 0 ? message.data : undefined,
        files: this.#prompt.parts.filter(
          ({ content }) =>
            content.case === "file" || content.case === "dataValue",
        ),
        conversation: this.#conversation.with(agent),
        chain,
        silenceMs: this.#options.silenceMs,
        stepRun: (call, messageId, end) => {
          if (end !== "unknown") child = end;
          const run = { ...begun, messageId };
          return isEnded(call) ? endedRun(run, call, end, services.now()) : run;
        },
      },
      { turn, services, signal },
      waiting.signal,
    );
    for await (const update of updates) {
      if (update.detail?.delegation?.taskId) waiting.stop();
      // What the agent made is there before its call has ended.
      for (const artifact of child?.artifacts ?? []) {
        const value = create(ArtifactUpdateSchema, {
          artifact,
          lastChunk: true,
        });
        yield { case: "artifact", value };
      }
      child = undefined;
      // Questions of the agent are calls of their own.
      const isAsking =
        update.call.toolCallId !== id &&
        update.call.status === ToolCallStatus.PENDING;
      if (isAsking) slot.leave();
      yield { case: "toolCalls", value: [update] };
      if (!isAsking) await slot.resume(signal);
    }
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

  /** Returns the agents that may have the message, and why others may not. */
  #ableOf(
    names: readonly string[],
    agents: readonly CalledAgent[],
  ): {
    readonly able: readonly CalledAgent[];
    readonly errors: readonly DevtoolError[];
  } {
    const able: CalledAgent[] = [];
    const errors: DevtoolError[] = [];
    const setting = narrowedBy(this.#place.turn.task, this.#options);
    for (const name of names) {
      const agent = agents.find((one) => one.name === name);
      if (!agent) {
        const known = agents.map((one) => one.name).join(", ") || "none";
        const remedy = `serve it, name it in remote_agents, or raise agent_calls.max_depth; there are: ${known}`;
        errors.push(unusable(name, "cannot be called by this task", remedy));
      } else if (setting && isElsewhere(agent.chainId, this.#options)) {
        const problem = `elsewhere does not follow ${setting} of this session`;
        const remedy = `leave ${setting} out, or choose an agent of this server`;
        errors.push(unusable(name, problem, remedy));
      } else {
        able.push(agent);
      }
    }
    return { able, errors };
  }

  /** Takes the first agent that is free. */
  #freeOf(
    agents: readonly CalledAgent[],
  ): { readonly agent: CalledAgent; readonly slot: AgentSlot } | undefined {
    for (const agent of agents) {
      const slot = this.#place.slots.tryTake(agent.name);
      if (slot) return { agent, slot };
    }
    return undefined;
  }
}

/** Aborts when an agent has not said in time that it has a message. */
class FirstEvent implements Disposable {
  readonly #late = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** @param limitMs the limit in milliseconds; infinite for none */
  start(limitMs: number): void {
    if (limitMs === Number.POSITIVE_INFINITY) return;
    const reason = new DevtoolError(
      `it did not take the message within ${limitMs / 1000} s`,
      Code.DeadlineExceeded,
    );
    this.#timer = setTimeout(() => this.#late.abort(reason), limitMs);
  }

  get signal(): AbortSignal {
    return this.#late.signal;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  [Symbol.dispose](): void {
    this.stop();
  }
}

function notice(text: string): AgentEvent {
  return { case: "notice", value: create(NoticeSchema, { text }) };
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

function unusable(name: string, problem: string, remedy: string): DevtoolError {
  return new DevtoolError(
    `agent ${quoted(name)} ${problem}`,
    Code.FailedPrecondition,
    { remedy },
  );
}

function noAnswer(failures: ReadonlyMap<string, string>): DevtoolError {
  const all = [...failures].map(([name, why]) => `${name}: ${why}`);
  return new DevtoolError(`no agent answers: ${all.join("; ")}`, Code.Aborted);
}
