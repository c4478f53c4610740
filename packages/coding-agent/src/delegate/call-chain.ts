import {
  create,
  fromJson,
  type JsonObject,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import { objectOrEmpty } from "@devtool/internal/json";
import { type CallChain, CallChainSchema, type Task } from "@devtool/schema";
import { Code, DevtoolError, invalid, quoted } from "@devtool/server/agent";

/** The maximum number of agents in a chain that is read. */
const MAX_AGENTS = 64;

/** Returns the metadata of a message with a chain. */
export function callChainMetadata(
  chain: MessageInitShape<typeof CallChainSchema>,
): JsonObject {
  const json = toJson(CallChainSchema, create(CallChainSchema, chain));
  return { [CALL_CHAIN_URI]: objectOrEmpty(json) };
}

/**
 * Returns the agents that called each other to make a task, the first one first;
 * none for a task of a user.
 *
 * Whoever sent the message may claim any chain: it can make an agent do less,
 * and says nothing to users. Throws `Code.InvalidArgument` for one that cannot
 * be read, since without it the agent would do more, and
 * `Code.FailedPrecondition` if the task's own agent is in it.
 *
 * @param own identifies the agent of the task
 */
export function agentsAbove(
  { history: [first] }: Pick<Task, "history">,
  own: string,
): readonly string[] {
  const { agents = [] } = (first && chainOf(first)) ?? {};
  if (!agents.includes(own)) return agents;
  throw new DevtoolError(
    `agent ${quoted(own)} was called by itself, over ${agents.map(quoted).join(", ")}`,
    Code.FailedPrecondition,
    { remedy: "have one of them answer without calling another agent" },
  );
}

/** Returns the agent file as whose agent a task works; empty for none. */
export function calledAs({ history: [first] }: Pick<Task, "history">): string {
  return (first && chainOf(first)?.calledAs) ?? "";
}

function chainOf({
  metadata = {},
}: Task["history"][number]): CallChain | undefined {
  const json = metadata[CALL_CHAIN_URI];
  if (json === undefined) return undefined;
  const field = `message.metadata[${quoted(CALL_CHAIN_URI)}]`;
  let chain: CallChain;
  try {
    chain = fromJson(CallChainSchema, json);
  } catch {
    throw invalid(field, "", "is not a call chain");
  }
  if (chain.agents.length <= MAX_AGENTS) return chain;
  throw invalid(field, "", `has more than ${MAX_AGENTS} agents`);
}
