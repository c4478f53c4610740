import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "@devtool/server";
import { HAS_PEER, startPeer } from "../coder-agent/peer.ts";
import { foreignServers } from "../interop/foreign-servers.ts";

/** A server that runs. */
export interface RunningPeer extends AsyncDisposable {
  readonly url: string;
  readonly token?: string;
  /** The directory it works in, which stays out of what is recorded. */
  readonly workspace?: string;
}

/** A server that the kit is played against, by a name with its version. */
export interface Peer {
  readonly name: string;
  /** Why it cannot be run here; undefined when it can. */
  readonly missing: string | undefined;
  /** What makes its agent behave as the cases need it; undefined for the step language. */
  readonly prompts: Readonly<Record<string, string>> | undefined;
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
  const sdks = new Map(foreignServers().map((kind) => [kind.peer, kind]));
  return [
    { name: "devtool 0.1.0", missing: undefined, prompts: undefined, only: "", start: startOurs },
    {
      name: "gemini-cli-a2a-server 0.25.2",
      missing: HAS_PEER ? undefined : "Gemini CLI's server is not here: run node scripts/peers.ts",
      prompts: STEP_PROMPTS,
      only: A2A_ONLY,
      start: startPeer,
    },
    ...[...sdks.values()].map(
      ({ peer, missing, start }): Peer => ({
        name: peer,
        missing,
        prompts: SCRIPT_PROMPTS,
        only: A2A_ONLY,
        start: () => start(),
      }),
    ),
  ];
}

async function startOurs(): Promise<RunningPeer> {
  const workspace = mkdtempSync(join(tmpdir(), "devtool-peers-"));
  const server = await createServer({ workspace, dataDirectory: `${workspace}-data` });
  return {
    url: server.url,
    token: server.token,
    workspace,
    async [Symbol.asyncDispose]() {
      await server.close();
      for (const directory of [workspace, `${workspace}-data`]) rmSync(directory, { recursive: true, force: true });
    },
  };
}
