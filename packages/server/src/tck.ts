// The public names of @devtool/server/tck: the agent that A2A test kits talk to.
export { createTckAgent, type TckAgentOptions } from "./tck/tck-agent.ts";
