import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { AgentListService, ListedAgentSchema } from "@devtool/schema";
import type { OfferedModel } from "../agent/agent-offers.ts";
import type { AgentSources } from "../discovery/agent-sources.ts";
import { Code, DevtoolError } from "../errors.ts";
import {
  agentsKey,
  assertKnown,
  assertMayUse,
  OPERATOR,
  principalOf,
} from "./caller.ts";

/** The contents of `AgentListService`. */
export interface AgentListing {
  /** The agents of the server, the default one first. */
  readonly agents: readonly MessageInitShape<typeof ListedAgentSchema>[];
  /**
   * The workspace of sessions that name none; empty when each must name one.
   */
  readonly workspace: string;
  readonly workspaceRoots: readonly string[];
  /** The agents elsewhere that are registered, or in catalogs. */
  readonly sources: Pick<
    AgentSources,
    "register" | "unregister" | "registered" | "list"
  >;
  /**
   * Lists the models of an agent; an empty name stands for the default agent.
   */
  readonly modelsOf: (
    agent: string,
    signal: AbortSignal,
  ) => Promise<readonly OfferedModel[]>;
}

/** Maximum number of models that are listed. */
const MAX_MODELS = 1000;

/**
 * Time in milliseconds within which an agent must list its models: some have to
 * be started for that.
 */
const MODELS_TIMEOUT_MS = 45_000;

/**
 * Creates the handler of `AgentListService`: what clients can start sessions
 * with.
 */
export function createAgentListHandler({
  agents,
  workspace,
  workspaceRoots,
  sources,
  modelsOf,
}: AgentListing): ServiceImpl<typeof AgentListService> {
  const permitted = ({ values }: HandlerContext) => values.get(agentsKey);
  return {
    listAgents(_request, context) {
      assertKnown(context);
      return {
        agents: agents.filter(
          ({ name = "" }) =>
            name === "" || (permitted(context)?.has(name) ?? true),
        ),
        workspace,
        workspaceRoots: [...workspaceRoots],
      };
    },
    async registerAgent(request, context) {
      assertKnown(context);
      return { agent: await sources.register(request, principalOf(context)) };
    },
    async unregisterAgent({ name }, context) {
      assertKnown(context);
      await sources.unregister(name, principalOf(context));
      return {};
    },
    async listFoundAgents(_request, context) {
      assertKnown(context);
      const principal = principalOf(context);
      if (principal === OPERATOR.principal) {
        return { agents: [...(await sources.list())] };
      }
      const registered = await sources.registered();
      return {
        agents: registered.filter(
          ({ registeredBy }) => registeredBy === principal,
        ),
      };
    },
    async listModels({ agent }, context) {
      assertKnown(context);
      const [first] = agents;
      assertMayUse(agent || (first?.name ?? ""), {
        agents: permitted(context),
      });
      const late = AbortSignal.timeout(MODELS_TIMEOUT_MS);
      const models = await modelsOf(
        agent,
        AbortSignal.any([context.signal, late]),
      ).catch((reason: unknown) => {
        if (!late.aborted) throw reason;
        const problem = `the agent did not list its models within ${MODELS_TIMEOUT_MS} ms`;
        throw new DevtoolError(problem, Code.DeadlineExceeded, {
          cause: reason,
        });
      });
      return {
        models: models
          .slice(0, MAX_MODELS)
          .map(({ name, displayName = "", contextWindowTokens = 0 }) => ({
            name,
            displayName,
            contextWindowTokens: BigInt(contextWindowTokens),
          })),
      };
    },
  };
}
