import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { makeGround, type Served } from "./peer.ts";

/**
 * Starts our server with the scripted agent. Without a sandbox, so that every
 * command needs approval.
 */
export async function startOurs(
  options: CodingServerOptions = {},
): Promise<Served> {
  const ground = makeGround();
  const server = await serveCodingAgent({
    workspace: ground.workspace,
    sandbox: "none",
    ...options,
  });
  return {
    url: server.url,
    token: server.token,
    workspace: ground.workspace,
    [Symbol.asyncDispose]: () => server.close(),
  };
}
