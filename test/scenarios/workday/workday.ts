import { execFileSync } from "node:child_process";
import { join } from "node:path";
import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { createGeminiModel } from "@devtool/gemini";
import { startFakeGemini } from "@devtool/gemini/testing";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";

/** A repository with a bug, and a server that works in it. */
export interface Workday extends AsyncDisposable {
  /** The home directory of the day, which has the repository. */
  readonly home: string;
  /**
   * The repository: `sum.mjs` subtracts, and `check.mjs` says that this is
   * wrong.
   */
  readonly work: string;
  readonly server: DevtoolServer;
  /**
   * Fixes the bug, and makes a branch `feature` that has another one. `main` is
   * checked out afterwards.
   */
  branch(): void;
  /** Returns a file of the repository. */
  read(name: string): string;
}

/** Begins a day's work with a model whose API is played. */
export async function beginWorkday(
  options: Pick<CodingServerOptions, "site"> = {},
): Promise<Workday> {
  const home = temporaryDirectory();
  const work = join(home, "work");
  const git = (...args: readonly string[]): void => {
    const author = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    execFileSync("git", [...author, ...args], { cwd: work, stdio: "ignore" });
  };
  const commit = (subject: string, operator: string): void => {
    putFile(
      work,
      "sum.mjs",
      `export function sum(a, b) {\n  return a ${operator} b;\n}\n`,
    );
    git("add", "-A");
    git("commit", "-q", "-m", subject);
  };
  putFile(work, "check.mjs", CHECK);
  git("init", "-q", "-b", "main");
  commit("First", "-");
  const fake = await startFakeGemini();
  const model = createGeminiModel({
    apiKey: "k",
    baseUrl: fake.url,
    model: "gemini-test",
  });
  const server = await serveCodingAgent({
    workspace: work,
    sandbox: "none",
    model,
    ...options,
  });
  return {
    home,
    work,
    server,
    branch: () => {
      commit("Add", "+");
      git("checkout", "-q", "-b", "feature");
      commit("Multiply, which is faster", "*");
      git("checkout", "-q", "main");
    },
    read: (name) => fileText(work, name),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await fake[Symbol.asyncDispose]();
    },
  };
}

const CHECK = `import { sum } from "./sum.mjs";
const ok = sum(2, 3) === 5;
console.log(ok ? "ok: 2 + 3 is 5" : \`not ok: 2 + 3 is \${sum(2, 3)}\`);
process.exit(ok ? 0 : 1);
`;
