import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { AgentListService, ListedAgentSchema } from "@devtool/schema";
import { assertKnown } from "./caller.ts";

/** What `AgentListService` lists. */
export interface AgentListing {
  /** The agents of the server, the default one first. */
  readonly agents: readonly MessageInitShape<typeof ListedAgentSchema>[];
  /** The workspace of sessions that name none; empty when each must name one. */
  readonly workspace: string;
  readonly workspaceRoots: readonly string[];
}

/** Creates the handler of `AgentListService`: what clients can start sessions with. */
export function createAgentListHandler({
  agents,
  workspace,
  workspaceRoots,
}: AgentListing): ServiceImpl<typeof AgentListService> {
  return {
    listAgents(_request, context) {
      assertKnown(context);
      return { agents: [...agents], workspace, workspaceRoots: [...workspaceRoots] };
    },
  };
}
