import { type Agent, Code, DevtoolError } from "@devtool/server/agent";
import type { AcpAgentOptions } from "./acp-agent-options.ts";

/** Creates an agent that runs a program which speaks the Agent Client Protocol (ACP), version 1. */
export function acpAgent({ name, description = `The agent ${name}, over ACP.` }: AcpAgentOptions): Agent {
  return {
    about: { name, description },
    open: () => {
      throw new DevtoolError("agents over ACP are not built yet", Code.Unimplemented);
    },
  };
}
