import { fromJson } from "@bufbuild/protobuf";
import { type Message, Role, type Task, TaskState } from "@devtool/schema";
import { Recording } from "../binding/recording.ts";
import { firstProblem, mismatch } from "../match/match.ts";
import type { CaseResult } from "../play/case-result.ts";
import {
  Program,
  type ProgramOutcome,
  type ProgramStreams,
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
import { PASSED, runCase, skipUnsupported, type Verdict } from "./verdict.ts";

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
export async function* runAgentSuite(
  streams: ProgramStreams,
  signal: AbortSignal,
  { timeoutMs = 10_000 }: Pick<ClientSuiteOptions, "timeoutMs"> = {},
): AsyncIterable<CaseResult> {
  const program = new Program(streams);
  const { dialects, cases } = agentCases();
  for (const dialect of dialects) {
    const way = `client/a2a-${dialect.protocolVersion}-jsonrpc/`;
    for (const one of cases) {
      signal.throwIfAborted();
      const id = one.id.replace("client/", way);
      yield runCase(id, one.requirements, async () => {
        for (const script of scriptsOf(one, dialect)) {
          const limit = AbortSignal.timeout(timeoutMs);
          const verdict = await playScript(
            script,
            program,
            AbortSignal.any([signal, limit]),
          );
          if (verdict.status !== "passed") return verdict;
        }
        return PASSED;
      });
    }
  }
}

/**
 * Returns a script for each form of the card and of the events.
 */
function scriptsOf(one: AgentCase, dialect: AgentDialect): AgentScript[] {
  const cards = one.cards.length > 0 ? one.cards : ["usual"];
  const events = one.events.length > 0 ? one.events : ["data: <data>\n\n"];
  return cards.flatMap((card) =>
    events.map((event) => {
      const token = crypto.randomUUID();
      return { one, dialect, card, event, token };
    }),
  );
}

async function playScript(
  script: AgentScript,
  program: Program,
  signal: AbortSignal,
): Promise<Verdict> {
  const { one, dialect, card, event, token } = script;
  await using agent = await startPlayedAgent(script);
  const recording = new Recording();
  const outcome = await recordedProgram(program, recording).ask(
    {
      case: "converseWithAgent",
      value: {
        conversation: {
          url: agent.url,
          token,
          prompt: "go",
          workspacePath: one.workspacePath,
        },
        protocolVersion: dialect.protocolVersion,
        protocolBinding: "JSONRPC",
      },
    },
    signal,
  );
  if (outcome.case === "unsupported") return skipUnsupported(outcome.value);
  const problem = problemOf(outcome, one, agent);
  if (problem === undefined) return PASSED;
  return {
    status: "failed",
    reason: `card ${card}, events as ${JSON.stringify(event)}: ${problem}`,
    exchanges: recording.records,
  };
}

/**
 * Returns what is wrong with what the client did and reported.
 */
function problemOf(
  outcome: ProgramOutcome,
  one: AgentCase,
  agent: PlayedAgent,
): string | undefined {
  const [mistake] = agent.problems;
  if (mistake !== undefined) return mistake;
  if (one.refused !== undefined) {
    const reason = outcome.case === "refused" ? outcome.value : undefined;
    if (agent.messages() === 0) return "the client sent no message";
    return mismatch(
      `<has:${one.refused}>`,
      reason,
      "the reason of the refusal",
    );
  }
  if (outcome.case !== "conversation") {
    return `a conversation must be returned: got ${outcome.case}: ${String(outcome.value)}`;
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
