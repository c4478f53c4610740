import { join } from "node:path";
import type { Transport } from "@connectrpc/connect";
import { startCuttingProxy } from "@devtool/conformance/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  type ServerProcess,
  startServing,
} from "../durability/crash/server-process.ts";
import type { KillStage } from "./binding-kills.ts";
import type { BindingStage } from "./binding-probes.ts";
import { BINDINGS, type Place } from "./bindings.ts";
import { Conversation } from "./conversation.ts";
import type { Stage } from "./probes.ts";
import { pathWith, type RealAgent } from "./real-agents.ts";

/** An agent behind a server, and what is around both. */
export interface AgentStage extends Stage, AsyncDisposable {
  /** Begins a conversation over a binding. */
  over(binding: string): Promise<BindingStage & AsyncDisposable>;
  /** The same agent, whose server is killed, over a binding. */
  killsOver(binding: string): KillStage;
}

/** How many bytes of the server pass through the proxy before the first cut. */
const FIRST_BYTES = 30_000;
/**
 * How much more pass before each further one: some agents send all of their
 * text in one event.
 */
const GROWTH = 1.5;

/**
 * Serves an agent by its name, as its user would: with its program in PATH, and
 * its configuration in HOME.
 */
export async function stageOf(agent: RealAgent): Promise<AgentStage> {
  const home = temporaryDirectory();
  const workspace = temporaryDirectory();
  const model = await agent.startModel();
  const PATH = pathWith(agent, join(home, "bin"));
  const environment = { PATH, HOME: home, ...agent.configure(home, model.url) };
  const directories = ["--data", join(home, "data"), "--workspace", workspace];
  const flags = [
    "--agent",
    agent.name,
    ...directories,
    "--allow-host",
    "127.0.0.1",
  ];
  let server: ServerProcess = await startServing(flags, environment);
  const stage: Stage = {
    agent,
    workspace,
    server: () => server,
    async restart() {
      await server.kill();
      server = await startServing(flags, environment);
    },
  };
  return {
    ...stage,
    killsOver(binding) {
      const connect = connectOver(binding);
      return {
        ...stage,
        binding,
        converse: (contextId) =>
          new Conversation(connect(server.info), contextId),
      };
    },
    async over(binding) {
      const connect = connectOver(binding);
      const { url, token } = server.info;
      let bytes = FIRST_BYTES / GROWTH;
      const proxy = await startCuttingProxy(
        () => url,
        () => (bytes *= GROWTH),
      );
      return {
        agent,
        workspace,
        binding,
        conversation: new Conversation(connect({ url, token })),
        cut: connect({ url: proxy.url, token }),
        cuts: proxy.cuts,
        modelRequests: () => model.requests().map(({ body }) => body),
        [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
      };
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await model[Symbol.asyncDispose]();
    },
  };
}

function connectOver(binding: string): (place: Place) => Transport {
  const connect = BINDINGS[binding];
  if (!connect) throw new Error(`binding "${binding}" does not exist`);
  return connect;
}
