import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskState } from "@devtool/schema";
import { describe, expect, it, onTestFinished } from "vitest";
import { REAL_AGENTS } from "../acp/real-agents.ts";
import { clientOf } from "../client-of.ts";
import { startServing } from "../durability/crash/server-process.ts";

const gemini = REAL_AGENTS.find(({ name }) => name === "gemini");
const missing = gemini?.missing ?? "";

describe(`Gemini CLI's file for an agent elsewhere${missing && ` (skipped: ${missing})`}`, () => {
  it.skipIf(missing !== "")(
    "gives our agent a task, and answers its question with the next call",
    async () => {
      if (!gemini) throw new Error("there is no Gemini CLI");
      const home = temporaryDirectory();
      const work = join(home, "work");
      mkdirSync(work);
      const server = await startServing([
        ...["--data", join(home, "data"), "--workspace", work, "--no-console"],
      ]);
      onTestFinished(() => server.kill());
      const { url, token } = server.info;
      await using model = await gemini.startModel();
      const env = gemini.configure(home, model.url);
      mkdirSync(join(home, ".gemini/agents"), { recursive: true });
      putFile(
        home,
        ".gemini/agents/devtool.md",
        `---
kind: remote
name: devtool
agent_card_url: ${url}/.well-known/agent-card.json
auth: { type: http, scheme: Bearer, token: $DEVTOOL_TOKEN }
---
`,
      );
      const prompt = ["write a.txt hello\ntext Written.", "yes"]
        .map(callWith)
        .join("\nnext\n");
      const [program = ""] = Object.values(gemini.programs);
      const child = spawn(
        process.execPath,
        [
          program,
          ...["--approval-mode", "yolo", "-p"],
          `${prompt}\ntext The host has ended.`,
        ],
        {
          cwd: work,
          env: {
            ...{ PATH: process.env.PATH, HOME: home, DEVTOOL_TOKEN: token },
            ...env,
          },
          stdio: ["ignore", "pipe", "pipe"],
        },
      );
      onTestFinished(() => void child.kill());
      let said = "";
      child.stdout.on("data", (chunk) => (said += chunk));
      child.stderr.on("data", (chunk) => (said += chunk));
      await new Promise((resolve) => child.once("exit", resolve));
      const heard = JSON.stringify(model.requests().map(({ body }) => body));
      expect(heard, said).toContain("May I call write_file?");
      // The prompt, which it hears too, has the word behind another.
      expect(heard, said).toMatch(/(?<!text )Written\./);
      expect(fileText(work, "a.txt")).toBe("hello");
      // One task was asked and answered: the answer began no other one.
      const { tasks } = await clientOf(server.info).tasks.listTasks({});
      expect(tasks.map(({ lastEvent }) => lastEvent?.state)).toEqual([
        TaskState.COMPLETED,
      ]);
    },
    240_000,
  );
});

/** The step by which the model gives a prompt to the agent of the file. */
function callWith(prompt: string): string {
  return `call invoke_agent ${JSON.stringify({ agent_name: "devtool", prompt })}`;
}
