import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { writeDiscovery } from "@devtool/cli/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import { type FakeGemini, startFakeGemini } from "@devtool/fake-gemini";
import { createGeminiModel } from "@devtool/gemini";
import { ServerInfoSchema } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "./depth.ts";
import { HAS_TMUX, Tmux } from "./terminal/tmux.ts";
import { playTranscript } from "./terminal/transcript.ts";

const main = fileURLToPath(new URL("../packages/cli/dist/main.js", import.meta.url));

describe.skipIf(!HAS_TMUX)("a day's work in the chat (skipped without tmux)", () => {
  let home: string;
  let work: string;
  let fake: FakeGemini;
  let server: DevtoolServer;
  let terminal: Tmux;

  beforeEach(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "devtool-workday-")));
    work = join(home, "work");
    mkdirSync(work);
    writeFileSync(join(work, "sum.mjs"), sumOf("-"));
    writeFileSync(join(work, "check.mjs"), CHECK);
    git("init", "-q", "-b", "main");
    commit("First");
    fake = await startFakeGemini();
    const model = createGeminiModel({ apiKey: "k", baseUrl: fake.url, model: "gemini-test" });
    server = await serveCodingAgent({ workspace: work, sandbox: "none", model });
    const info = { url: server.url, token: server.token, pid: process.pid, agent: "devtool", workspace: work };
    await writeDiscovery(join(home, "data"), create(ServerInfoSchema, { ...info, model: "gemini-test" }));
    const env = { PATH: process.env.PATH ?? "", HOME: home, TERM: "xterm", DEVTOOL_DATA: join(home, "data") };
    terminal = await Tmux.open({ env, rows: 60, directory: work });
    const chat = `"${process.execPath}" "${main}" chat --url ${server.url} --token ${server.token}`;
    await terminal.type(`clear; ${chat}`, "Enter");
    await terminal.shows(/default\n>$/m);
  });
  afterEach(async () => {
    await terminal[Symbol.asyncDispose]();
    await server.close();
    await fake[Symbol.asyncDispose]();
    rmSync(home, { recursive: true });
  });

  it("finds and fixes a bug", async () => {
    await play("fix-a-bug.txt");
    expect(readFileSync(join(work, "sum.mjs"), "utf8")).toContain("return a + b;");
    expect(await terminal.screen()).toMatch(/· context \d+ % left · \d+ tokens sent\n>/);
  });

  it.skipIf(LEFT_TO_CI !== "")(`reviews a branch, and keeps the review${LEFT_TO_CI}`, async () => {
    writeFileSync(join(work, "sum.mjs"), sumOf("+"));
    commit("Add");
    git("checkout", "-q", "-b", "feature");
    writeFileSync(join(work, "sum.mjs"), sumOf("*"));
    commit("Multiply, which is faster");
    git("checkout", "-q", "main");
    await play("review-a-branch.txt");
    expect(readFileSync(join(work, "review.md"), "utf8")).toContain("| sum.mjs:2 | multiplies |");
  });

  /** Plays one of the transcripts. */
  function play(name: string): Promise<void> {
    const transcript = readFileSync(new URL(`terminal/${name}`, import.meta.url), "utf8");
    return playTranscript(terminal, transcript, { $WORK: work });
  }

  function git(...args: readonly string[]): void {
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], {
      cwd: work,
      stdio: "ignore",
    });
  }

  function commit(subject: string): void {
    git("add", "-A");
    git("commit", "-q", "-m", subject);
  }
});

const CHECK = `import { sum } from "./sum.mjs";
const ok = sum(2, 3) === 5;
console.log(ok ? "ok: 2 + 3 is 5" : \`not ok: 2 + 3 is \${sum(2, 3)}\`);
process.exit(ok ? 0 : 1);
`;

function sumOf(operator: string): string {
  return `export function sum(a, b) {\n  return a ${operator} b;\n}\n`;
}
