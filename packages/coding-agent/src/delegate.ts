/**
 * The entry `@devtool/coding-agent/delegate`: work for other agents, for a
 * program that gives it to them as the tools of a model do.
 */
export type { CalledAgent } from "./delegate/called-agent.ts";
export { runDelegated } from "./delegate/delegated-call.ts";
export { reachableAgents } from "./delegate/reachable-agents.ts";
export type { RemoteAgent } from "./delegate/remote-agents.ts";
export { UntoldCancels } from "./delegate/untold-cancels.ts";
