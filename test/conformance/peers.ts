import { fileURLToPath } from "node:url";
import { serveCodingAgent } from "@devtool/coding-agent";
import type { ServerTarget } from "@devtool/conformance/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { HAS_PEER, startPeer } from "../gemini-cli/peer.ts";
import {
  type ForeignServerKind,
  foreignServers,
} from "../interop/foreign-servers.ts";

/** A running server. */
export interface RunningPeer extends AsyncDisposable {
  readonly url: string;
  readonly token?: string;
}

/** A version and a binding of A2A. */
export type Way = Required<Pick<ServerTarget, "protocolVersion" | "binding">>;

/** All versions and bindings that devtool's server and the kit support. */
export const WAYS: readonly Way[] = [
  { protocolVersion: "0.3", binding: "JSONRPC" },
  { protocolVersion: "0.3", binding: "HTTP+JSON" },
  { protocolVersion: "1.0", binding: "JSONRPC" },
  { protocolVersion: "1.0", binding: "HTTP+JSON" },
  { protocolVersion: "1.0", binding: "GRPC" },
];

/** A server that the kit is played against. */
export interface Peer {
  /** Its name and version. */
  readonly name: string;
  /** The peer whose list of known failures is its own. */
  readonly known: string;
  /** Why it cannot run on this machine. Undefined if it can. */
  readonly missing: string | undefined;
  /**
   * The prompts that make its agent behave as the cases need. Undefined for the
   * step language.
   */
  readonly prompts: Readonly<Record<string, string>> | undefined;
  /** The versions and bindings that it supports. */
  readonly ways: readonly Way[];
  /** The prefix of the cases to play. Empty plays all. */
  readonly only: string;
  start(): Promise<RunningPeer>;
}

/**
 * Only what A2A itself requires: beyond it, these agents follow a script of the
 * interop tests.
 */
const A2A_ONLY = "a2a/";

/** Prompts of the agents on the official SDKs (`test/interop/agent.json`). */
const SCRIPT_PROMPTS = {
  says: "hello",
  ends: "hello",
  asks: "ask",
  answers: "that",
  "works-long": "wait",
  "works-a-while": "late",
  hook: "https://93.184.215.14/hook",
} as const;

/**
 * Prompts of Gemini CLI's server, whose fake Gemini plays the step language.
 * Its tasks never end unless they are canceled.
 */
const STEP_PROMPTS = {
  says: "text hello",
  asks: "text which one?",
  answers: "text that one",
  "works-long": "wait 60000",
  "works-a-while": "text one\nwait 1500\ntext two",
  hook: "https://93.184.215.14/hook",
} as const;

/** All servers that the kit is played against, devtool's first. */
export function peers(): readonly Peer[] {
  return [
    {
      name: "devtool",
      known: "devtool",
      missing: undefined,
      prompts: undefined,
      ways: WAYS,
      only: "",
      start: startOurs,
    },
    {
      name: "gemini-cli-a2a-server 0.25.2",
      known: "gemini-cli-a2a-server 0.25.2",
      missing: HAS_PEER
        ? undefined
        : "Gemini CLI's server is not installed: run npx -y pnpm@12 install:peers",
      prompts: STEP_PROMPTS,
      ways: [{ protocolVersion: "0.3", binding: "JSONRPC" }],
      only: A2A_ONLY,
      start: startPeer,
    },
    ...sdkPeers(),
  ];
}

/** A small agent that does not know the extension. */
interface Shape {
  readonly name: string;
  readonly claims: string;
  /** The file of its script beside the interop tests. */
  readonly script: string;
  /** Undefined where the agent is only greeted. */
  readonly prompts: Peer["prompts"];
}

/**
 * What people write first: an agent that answers a greeting, in one of the
 * ways that A2A allows.
 */
const SHAPES: readonly Shape[] = [
  {
    name: "answers with messages",
    claims: "streaming",
    script: "hello-message.json",
    prompts: undefined,
  },
  {
    name: "answers with tasks",
    claims: "",
    script: "hello.json",
    prompts: undefined,
  },
  {
    name: "streams",
    claims: "streaming",
    script: "hello.json",
    prompts: undefined,
  },
  {
    name: "notifies",
    claims: "push",
    script: "hello.json",
    prompts: { says: "Hello", ends: "Hello", hook: SCRIPT_PROMPTS.hook },
  },
];

/** Agents on the official SDKs, each in each shape. */
export function plainPeers(): readonly Peer[] {
  const directory = fileURLToPath(new URL("../interop/", import.meta.url));
  return SHAPES.flatMap(({ name, claims, script, prompts }) =>
    sdkKinds().map(({ peer, ways, missing, start }) => ({
      name: `${peer}, ${name}`,
      known: peer,
      missing,
      prompts,
      ways,
      only: "",
      start: () => start(`${directory}${script}`, claims),
    })),
  );
}

/** The agents of the interop tests, each once. */
function sdkPeers(): readonly Peer[] {
  return sdkKinds().map(({ peer, ways, missing, start }) => ({
    name: peer,
    known: peer,
    missing,
    prompts: SCRIPT_PROMPTS,
    ways,
    only: A2A_ONLY,
    start: () => start(),
  }));
}

/** The servers of the interop tests by their SDK, with all their ways. */
function sdkKinds(): readonly (ForeignServerKind & Pick<Peer, "ways">)[] {
  const kinds = foreignServers();
  return [...new Set(kinds.map(({ peer }) => peer))].flatMap((name) => {
    const own = kinds.filter(({ peer }) => peer === name);
    const ways = WAYS.filter((way) =>
      own.some(
        ({ protocol, binding }) =>
          protocol === way.protocolVersion && binding === way.binding,
      ),
    );
    return own.slice(0, 1).map((kind) => ({ ...kind, ways }));
  });
}

/** Starts devtool's server with its own workspace and data directory. */
export async function startOurs(): Promise<RunningPeer> {
  const workspace = temporaryDirectory();
  const server = await serveCodingAgent({
    workspace,
    dataDirectory: temporaryDirectory(),
    mcp: createMcp({ servers: [] }),
    a2a: { grpcInCard: true },
  });
  return {
    url: server.url,
    token: server.token,
    async [Symbol.asyncDispose]() {
      await server.close();
    },
  };
}
