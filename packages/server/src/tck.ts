// The public names of @devtool/server/tck: the agent for the A2A test kits.
export { createTckAgent, type TckAgentOptions } from "./tck/tck-agent.ts";
