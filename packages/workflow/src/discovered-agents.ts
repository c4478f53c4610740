import type { RemoteAgent } from "@devtool/coding-agent/delegate";
import type { AgentMesh } from "@devtool/schema";
import type { AgentServices } from "@devtool/server/agent";

/**
 * Returns the agents of a mesh that are registered or in catalogs: those whose
 * registering principal the mesh names, and those of a catalog by their names,
 * unless the operator has an agent of that name.
 *
 * @param remote the agents elsewhere that the operator named
 */
export async function discoveredAgents(
  { agents }: AgentMesh,
  { agents: directory }: Pick<AgentServices, "agents">,
  remote: readonly RemoteAgent[],
): Promise<readonly RemoteAgent[]> {
  const own = new Set(
    [...directory.listed, ...remote].map(({ name = "" }) => name),
  );
  const wanted = agents.filter(
    ({ name, registeredBy }) => registeredBy !== "" || !own.has(name),
  );
  if (wanted.length === 0) return [];
  const found = await directory.found();
  return wanted.flatMap(
    ({ name, registeredBy }) =>
      found.find(
        (one) => one.name === name && one.registeredBy === registeredBy,
      ) ?? [],
  );
}
