/**
 * The entry `@devtool/workflow`: workflows of agents, as agents of a server.
 */
export { defineWorkflow } from "./check-workflow.ts";
export { readWorkflow } from "./read-workflow.ts";
export { workflowAgent } from "./workflow-agent.ts";
