/**
 * The entry `@devtool/workflow`: workflows of agents, and one address for
 * several agents, as agents of a server.
 */
export { readMesh } from "./check-mesh.ts";
export { defineWorkflow } from "./check-workflow.ts";
export { meshAgent } from "./mesh-agent.ts";
export { readWorkflow } from "./read-workflow.ts";
export { workflowAgent } from "./workflow-agent.ts";
