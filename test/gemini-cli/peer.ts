import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { startFakeGemini } from "@devtool/gemini/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { Place } from "./raw-client.ts";

/** A server in a workspace of its own, with `notes.txt` in it. */
export interface Served extends Place, AsyncDisposable {}

const path = (relative: string): string =>
  fileURLToPath(new URL(relative, import.meta.url));
const PEER_APP = path(
  "../../peers/node_modules/@google/gemini-cli-a2a-server/dist/src/http/app.js",
);

/**
 * Whether Gemini CLI's own server is installed, which `pnpm install:peers`
 * does.
 */
export const HAS_PEER: boolean = existsSync(PEER_APP);

/** Starts Gemini CLI's own server in front of a fake Gemini. */
export async function startPeer(): Promise<Served> {
  const ground = makeGround();
  const fake = await startFakeGemini();
  const child = spawn(
    process.execPath,
    [path("../../bench/src/peer-server.ts"), PEER_APP, ground.workspace],
    {
      stdio: ["ignore", "pipe", "ignore"],
      env: {
        ...process.env,
        ...PEER_ENV,
        HOME: ground.home,
        GOOGLE_GEMINI_BASE_URL: fake.url,
      },
    },
  );
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return {
    ...JSON.parse(line),
    workspace: ground.workspace,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await once(child, "exit");
      await fake[Symbol.asyncDispose]();
    },
  };
}

/** The author of the commits that the peer makes before each change. */
const PEER_ENV = {
  GEMINI_API_KEY: "none",
  GIT_AUTHOR_NAME: "peer",
  GIT_AUTHOR_EMAIL: "peer@example.com",
  GIT_COMMITTER_NAME: "peer",
  GIT_COMMITTER_EMAIL: "peer@example.com",
};

/** Makes a workspace with `notes.txt` in it, and a home beside it. */
export function makeGround(): {
  readonly home: string;
  readonly workspace: string;
} {
  const home = temporaryDirectory();
  const workspace = temporaryDirectory();
  putFile(workspace, "notes.txt", "alpha\nbeta\n");
  return { home, workspace };
}
