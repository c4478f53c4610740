import { fromJson } from "@bufbuild/protobuf";
import { type Message, Role, type Task, TaskState } from "@devtool/schema";
import type { ProtocolVersion } from "../binding/binding.ts";
import { Recording } from "../binding/recording.ts";
import { firstProblem, mismatch } from "../match/match.ts";
import type { CaseResult } from "../play/case-result.ts";
import { PrintedNamesError } from "../program/printed-task.ts";
import {
  type AskProgram,
  Program,
  type ProgramOutcome,
  type ProgramStreams,
  type ProgramWork,
} from "../program/program.ts";
import { recordedProgram } from "../program/recorded-program.ts";
import {
  type AgentCase,
  type AgentDialect,
  type AgentSuite,
  AgentSuiteSchema,
} from "../protos.ts";
import {
  type AgentScript,
  type PlayedAgent,
  startPlayedAgent,
} from "../replay/played-agent.ts";
import agentSuite from "../suites/agents.json" with { type: "json" };
import type { ClientSuiteOptions } from "./run-client-suite.ts";
import {
  describeFailure,
  PASSED,
  runCase,
  skipUnsupported,
  type Verdict,
} from "./verdict.ts";

/**
 * Returns the agents that are played to clients, as data.
 */
export function agentCases(): AgentSuite {
  return fromJson(AgentSuiteSchema, agentSuite);
}

/**
 * Tests a client by playing agents as others write them, in A2A 0.3 and 1.0
 * over JSON-RPC. The client is a program that converses
 * (docs/test-kits.md). Yields each result as soon as it is known.
 *
 * Rejects with the signal's reason, before the next case, when it aborts.
 */
export function runAgentSuite(
  streams: ProgramStreams,
  signal: AbortSignal,
  options: Pick<ClientSuiteOptions, "timeoutMs"> = {},
): AsyncIterable<CaseResult> {
  const program = new Program(streams);
  const startClient: StartClient = (recording) =>
    recordedProgram(program, recording);
  return playAgents(startClient, signal, {
    ...options,
    newToken: () => crypto.randomUUID(),
  });
}

/** Returns the client for one conversation, which is recorded as evidence. */
export type StartClient = (recording: Recording) => AskProgram;

/** Options of `playAgents`. */
export interface PlayAgentsOptions
  extends Pick<ClientSuiteOptions, "timeoutMs"> {
  /** The only version of A2A to play. Default: each. */
  readonly protocolVersion?: ProtocolVersion;
  /** The prefix of the ids of the cases to play. Default: empty. */
  readonly only?: string;
  /**
   * Creates the bearer token that the client must send.
   *
   * Default: it needs none.
   */
  readonly newToken?: () => string;
}

/** Plays agents to a client, as `runAgentSuite` does. */
export async function* playAgents(
  startClient: StartClient,
  signal: AbortSignal,
  options: PlayAgentsOptions,
): AsyncIterable<CaseResult> {
  const { protocolVersion, only = "", newToken = () => "" } = options;
  const { dialects, cases } = agentCases();
  for (const dialect of dialects) {
    if (
      dialect.protocolVersion !== (protocolVersion ?? dialect.protocolVersion)
    )
      continue;
    const player = new ScriptPlayer(startClient, signal, options);
    let usual: CaseResult | undefined;
    for (const one of cases) {
      signal.throwIfAborted();
      const id = caseId(one, dialect);
      if (!id.startsWith(only)) continue;
      const { requirements } = one;
      if (usual?.status === "failed") {
        const reason = `${usual.id} failed: mend that first`;
        yield { id, requirements, status: "skipped", reason, durationMs: 0 };
        continue;
      }
      const result = await runCase(id, requirements, () =>
        player.playEach(scriptsOf(one, dialect, newToken)),
      );
      if (one === cases[0]) usual = result;
      yield result;
    }
  }
}

/** Returns the ids of all cases. */
export function agentCaseIds(): string[] {
  const { dialects, cases } = agentCases();
  return dialects.flatMap((dialect) =>
    cases.map((one) => caseId(one, dialect)),
  );
}

function caseId(one: AgentCase, { protocolVersion }: AgentDialect): string {
  return one.id.replace("client/", `client/a2a-${protocolVersion}-jsonrpc/`);
}

/**
 * Returns a script for each form of the card and of the events.
 */
function scriptsOf(
  one: AgentCase,
  dialect: AgentDialect,
  newToken: () => string,
): AgentScript[] {
  const cards = one.cards.length > 0 ? one.cards : ["usual"];
  const events = one.events.length > 0 ? one.events : ["data: <data>\n\n"];
  return cards.flatMap((card) =>
    events.map((event) => ({ one, dialect, card, event, token: newToken() })),
  );
}

/** Plays scripts to one client. */
class ScriptPlayer {
  readonly #startClient: StartClient;
  readonly #signal: AbortSignal;
  readonly #timeoutMs: number;

  constructor(
    startClient: StartClient,
    signal: AbortSignal,
    { timeoutMs = 10_000 }: Pick<ClientSuiteOptions, "timeoutMs">,
  ) {
    this.#startClient = startClient;
    this.#signal = signal;
    this.#timeoutMs = timeoutMs;
  }

  /** Plays scripts until one does not pass, and returns its verdict. */
  async playEach(scripts: readonly AgentScript[]): Promise<Verdict> {
    for (const script of scripts) {
      const verdict = await this.#play(script);
      if (verdict.status !== "passed") return verdict;
    }
    return PASSED;
  }

  async #play(script: AgentScript): Promise<Verdict> {
    const { one, card, event } = script;
    await using agent = await startPlayedAgent(script);
    const recording = new Recording();
    const client = this.#startClient(recording);
    const limit = AbortSignal.timeout(this.#timeoutMs);
    const outcome = await client
      .ask(workOf(script, agent), AbortSignal.any([this.#signal, limit]))
      .catch((cause: unknown) => findingOf(cause));
    if ("case" in outcome && outcome.case === "unsupported") {
      return skipUnsupported(outcome.value);
    }
    if (agent.avoidsStreams()) {
      return skipUnsupported("streams: it sent the message without one");
    }
    const found =
      "problem" in outcome ? outcome : findingIn(outcome, one, agent);
    if (!found) return PASSED;
    const { problem, requirement } = found;
    const forms = [
      ...(one.cards.length > 1 ? [`card ${card}: `] : []),
      ...(one.events.length > 1
        ? [`events as ${JSON.stringify(event)}: `]
        : []),
    ];
    const remedy =
      requirement === undefined && one.remedy !== "" ? `: ${one.remedy}` : "";
    const reason = `${forms.join("")}${problem}${remedy}`;
    const requirements =
      requirement === undefined ? one.requirements : [requirement];
    return {
      status: "failed",
      reason,
      failures: [{ requirements, step: 0, reason }],
      exchanges: recording.records,
    };
  }
}

function workOf(
  { one, dialect, token }: AgentScript,
  { url }: PlayedAgent,
): ProgramWork {
  const { workspacePath } = one;
  return {
    case: "converseWithAgent",
    value: {
      conversation: { url, token, prompt: "go", workspacePath },
      protocolVersion: dialect.protocolVersion,
      protocolBinding: "JSONRPC",
    },
  };
}

/** Something wrong with what a client did or reported. */
interface Finding {
  readonly problem: string;
  /** The requirement that is not met, if it is another than the case's. */
  readonly requirement?: string;
}

function findingOf(cause: unknown): Finding {
  const problem = describeFailure(cause);
  return cause instanceof PrintedNamesError
    ? { problem, requirement: cause.requirement }
    : { problem };
}

/**
 * Returns what is wrong with what the client did and reported.
 */
function findingIn(
  outcome: ProgramOutcome,
  one: AgentCase,
  agent: PlayedAgent,
): Finding | undefined {
  const [mistake] = agent.problems;
  if (agent.messages() > 1) {
    const problem =
      "the client sent its message more than once: an error does not say that the agent did not get it";
    return { problem, requirement: "CLIENT-2" };
  }
  const problem = mistake ?? outcomeProblem(outcome, one, agent);
  if (problem === undefined) return undefined;
  const isHidden = one.refused !== undefined && outcome.case !== "refused";
  return isHidden ? { problem, requirement: "CLIENT-2" } : { problem };
}

function outcomeProblem(
  outcome: ProgramOutcome,
  one: AgentCase,
  agent: PlayedAgent,
): string | undefined {
  if (one.refused !== undefined) {
    if (agent.messages() === 0) return "the client sent no message";
    if (outcome.case !== "refused") {
      return `the agent failed, and the client showed no error (of a command: an exit code other than 0): ${one.remedy}`;
    }
    return mismatch(
      `<has:${one.refused}>`,
      outcome.value,
      "the reason of the refusal",
    );
  }
  if (outcome.case === undefined) {
    return "the client showed nothing: a command must print each element of the answer as JSON of A2A";
  }
  if (outcome.case !== "conversation") {
    const how = outcome.case === "refused" ? "it refused" : outcome.case;
    return `the client must show the answer: ${how}: ${String(outcome.value)}`;
  }
  const { task } = outcome.value;
  if (!task) return "the conversation must have a task";
  return firstProblem([
    mismatch(one.made, madeText(task), "the text of artifacts"),
    mismatch(one.said, saidText(task), "the text of messages"),
    mismatch("COMPLETED", TaskState[task.state], "the state"),
  ]);
}

function saidText({ history }: Task): string {
  const agents = history.filter(({ role }) => role === Role.AGENT);
  return agents.map(textOf).join(" ");
}

function madeText({ artifacts }: Task): string {
  return artifacts.map(textOf).join(" ");
}

function textOf({ parts }: Pick<Message, "parts">): string {
  return parts
    .map(({ content }) => (content.case === "text" ? content.value : ""))
    .join("");
}
