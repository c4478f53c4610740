import type { AgentDirectory } from "../agent/agent.ts";
import type { AgentSources } from "../discovery/agent-sources.ts";
import { Code, DevtoolError } from "../errors.ts";
import { type Caller, OPERATOR, type Right } from "../handler/caller.ts";
import type { RequestHandler } from "../handler/request-handler.ts";
import type { ServerSettings } from "../server-options.ts";
import { rightsOfRoles } from "../transport/auth/role-authenticator.ts";
import type { ServedAgents } from "./served-agents.ts";

/** A task ends its own calls when the server stops. */
const NEVER = new AbortController().signal;

/** Dependencies of `createAgentDirectory`. */
interface DirectoryOptions extends Pick<ServerSettings, "authentication"> {
  readonly agents: ServedAgents;
  readonly sources: AgentSources;
  readonly publicUrl: string;
  readonly onError: (reason: unknown) => void;
}

/** Creates what the agents of a server know of each other. */
export function createAgentDirectory(
  { agents, sources, authentication, publicUrl, onError }: DirectoryOptions,
  handler: RequestHandler,
): AgentDirectory {
  const { roles: settings = [] } = authentication ?? {};
  return {
    serverUrl: publicUrl,
    listed: agents.listed,
    found: () => sources.callable(),
    transportFor: async ({ principal, sender }) => {
      const { roles = [], userTier = "" } = sender ?? {};
      const isLimited = settings.length > 0 && principal !== OPERATOR.principal;
      const permitted: Pick<Caller, "rights" | "agents"> = isLimited
        ? rightsOfRoles(roles, settings)
        : { rights: new Set<Right>(["run"]) };
      if (!permitted.rights.has("run")) {
        throw new DevtoolError(
          "the caller of the task may not run agents any more",
          Code.PermissionDenied,
        );
      }
      const { inProcessTransport } = await import("./in-process.ts");
      const rights = new Set<Right>(["read", "run", "approve"]);
      const caller = { ...permitted, principal, roles, userTier, rights };
      return inProcessTransport(
        { handler, onError, shutdown: NEVER, served: [] },
        caller,
      );
    },
  };
}
