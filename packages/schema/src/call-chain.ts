import {
  create,
  fromJson,
  type JsonObject,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { CALL_CHAIN_URI } from "./extension.ts";
import {
  type CallChain,
  CallChainSchema,
  type Message,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { WireError } from "./wire-error.ts";

/** The maximum number of agents in a chain that is read. */
const MAX_AGENTS = 64;

/**
 * Reads from where a message comes that one agent sent to another; an empty
 * chain for a message of a user. Anybody can claim any chain.
 *
 * Throws a `WireError` for one that cannot be read.
 */
export function readCallChain({
  metadata = {},
}: Pick<Message, "metadata">): CallChain {
  const json = metadata[CALL_CHAIN_URI];
  if (json === undefined) return create(CallChainSchema);
  const field = `message.metadata[${JSON.stringify(CALL_CHAIN_URI)}]`;
  let chain: CallChain;
  try {
    chain = fromJson(CallChainSchema, json);
  } catch {
    throw new WireError(field, "", "is not a call chain");
  }
  if (chain.agents.length <= MAX_AGENTS) return chain;
  throw new WireError(field, "", `has more than ${MAX_AGENTS} agents`);
}

/** Returns the metadata of a message with a chain. */
export function callChainMetadata(
  chain: MessageInitShape<typeof CallChainSchema>,
): JsonObject {
  const json = toJson(CallChainSchema, create(CallChainSchema, chain));
  return { [CALL_CHAIN_URI]: objectOrEmpty(json) };
}
