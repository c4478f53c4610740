import { createServer, type ServerOptions } from "@devtool/server";
import { makeGround, type Served } from "./peer.ts";

/** Starts our server with the scripted agent; no sandbox, so that every command asks. */
export async function startOurs(options: ServerOptions = {}): Promise<Served> {
  const ground = makeGround();
  const server = await createServer({ workspace: ground.workspace, sandbox: "none", ...options });
  return {
    url: server.url,
    token: server.token,
    workspace: ground.workspace,
    async [Symbol.asyncDispose]() {
      await server.close();
      ground.remove();
    },
  };
}
