import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";
import type { ServerTarget } from "@devtool/conformance";
import { createMcp } from "@devtool/mcp";
import { HAS_PEER, startPeer } from "../gemini-cli/peer.ts";
import { foreignServers } from "../interop/foreign-servers.ts";

/** A server that runs. */
export interface RunningPeer extends AsyncDisposable {
  readonly url: string;
  readonly token?: string;
}

/** A version and a binding of A2A. */
export type Way = Required<Pick<ServerTarget, "protocolVersion" | "binding">>;

/** All that our server speaks, and that the kit plays. */
export const WAYS: readonly Way[] = [
  { protocolVersion: "0.3", binding: "JSONRPC" },
  { protocolVersion: "0.3", binding: "HTTP+JSON" },
  { protocolVersion: "1.0", binding: "JSONRPC" },
  { protocolVersion: "1.0", binding: "HTTP+JSON" },
  { protocolVersion: "1.0", binding: "GRPC" },
];

/** A server that the kit is played against, by a name with its version. */
export interface Peer {
  readonly name: string;
  /** Why it cannot be run here; undefined when it can. */
  readonly missing: string | undefined;
  /** What makes its agent behave as the cases need it; undefined for the step language. */
  readonly prompts: Readonly<Record<string, string>> | undefined;
  /** In which versions and bindings of A2A it can be spoken to. */
  readonly ways: readonly Way[];
  /** How the ids of the cases to play begin; empty for all. */
  readonly only: string;
  start(): Promise<RunningPeer>;
}

/** Only what A2A itself asks: what these agents do beyond it is not theirs, it is a script of our interop tests. */
const A2A_ONLY = "a2a/";

/** What our agents on the official SDKs are asked to do (`test/interop/agent.json`). */
const SCRIPT_PROMPTS = {
  says: "hello",
  ends: "hello",
  asks: "ask",
  answers: "that",
  "works-long": "wait",
  "works-a-while": "late",
  hook: "https://93.184.215.14/hook",
} as const;

/** Gemini CLI's server thinks with a fake Gemini that plays our step language; its tasks wait for more, and end by cancel alone. */
const STEP_PROMPTS = {
  says: "text hello",
  asks: "text which one?",
  answers: "text that one",
  "works-long": "wait 60000",
  "works-a-while": "text one\nwait 1500\ntext two",
  hook: "https://93.184.215.14/hook",
} as const;

/** Everybody whom the kit is played against, ourselves first. */
export function peers(): readonly Peer[] {
  return [
    { name: "devtool", missing: undefined, prompts: undefined, ways: WAYS, only: "", start: startOurs },
    {
      name: "gemini-cli-a2a-server 0.25.2",
      missing: HAS_PEER ? undefined : "Gemini CLI's server is not here: run npx -y pnpm@12 install:peers",
      prompts: STEP_PROMPTS,
      ways: [{ protocolVersion: "0.3", binding: "JSONRPC" }],
      only: A2A_ONLY,
      start: startPeer,
    },
    ...sdkPeers(),
  ];
}

/** The agents of our interop tests, each once. */
function sdkPeers(): readonly Peer[] {
  const kinds = foreignServers();
  return [...new Set(kinds.map(({ peer }) => peer))].flatMap((name) => {
    const own = kinds.filter(({ peer }) => peer === name);
    const ways = WAYS.filter((way) =>
      own.some(({ protocol, binding }) => protocol === way.protocolVersion && binding === way.binding),
    );
    return own.slice(0, 1).map(({ missing, start }) => ({
      name,
      missing,
      prompts: SCRIPT_PROMPTS,
      ways,
      only: A2A_ONLY,
      start: () => start(),
    }));
  });
}

/** Starts our own server with a workspace and data of its own. */
export async function startOurs(): Promise<RunningPeer> {
  const workspace = mkdtempSync(join(tmpdir(), "devtool-peers-"));
  const server = await serveCodingAgent({
    workspace,
    dataDirectory: `${workspace}-data`,
    mcp: createMcp({ servers: [] }),
  });
  return {
    url: server.url,
    token: server.token,
    async [Symbol.asyncDispose]() {
      await server.close();
      for (const directory of [workspace, `${workspace}-data`]) rmSync(directory, { recursive: true, force: true });
    },
  };
}
