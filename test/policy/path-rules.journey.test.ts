import { execFileSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toJsonString } from "@bufbuild/protobuf";
import {
  type DevtoolClient,
  pendingToolCalls,
  streamMessage,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  reduceTask,
  type Task,
  TaskSchema,
  toolCallsOf,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

const SECRET = "hunter2-in-env";
const MANUAL = `tool = ["read_file", "search_file_content"]\npath = ["**/.env", ".env"]`;
const EVERY_TOOL = `tool = "*"\npath = ["**/.env", ".env"]`;

/**
 * Commands that show the content of a file without naming it, or under another
 * name.
 */
const TOOLS = [
  `call search_file_content {"pattern":"KEY"}`,
  `call search_file_content {"pattern":"KEY","include":".e*"}`,
  `call search_file_content {"pattern":"KEY","path":"sub"}`,
  `call search_file_content {"pattern":"KEY","include_ignored":true}`,
  `call read_many_files {"paths":["."]}`,
  `call read_many_files {"paths":[".en?"]}`,
  `call read_many_files {"paths":["sub"]}`,
  `call read_many_files {"paths":["sub/**"]}`,
];
const COMMANDS = [
  "git show HEAD:.env",
  "git show HEAD:./.env",
  "git show HEAD",
  "git show :.env",
  "git cat-file -p HEAD:.env",
  "git status -v",
  "git status -sbv",
  "git status",
  "git diff --stat",
  "git log -p",
  "git log -n1 -up",
  "git log --patch",
  "git grep KEY",
  "git diff HEAD~1",
  "git blame .env",
  "grep -r KEY .",
  "grep -nrI KEY",
  "grep -f.env notes.txt",
  "rg KEY --hidden",
  "diff . sub",
  "cat linked.txt",
  "cat sub/.env",
];

describe.each([
  ["of the manual's example", MANUAL],
  ["for every tool", EVERY_TOOL],
])("a rule about a path, %s", (_which, conditions) => {
  describe.each(["deny", "ask"])("that decides %s", (decision) => {
    let base: string;
    let server: DevtoolServer;
    let client: DevtoolClient;
    beforeAll(async () => {
      base = temporaryDirectory();
      const workspace = join(base, "workspace");
      await makeRepository(workspace);
      await mkdir(join(base, "data"), { mode: 0o700 });
      const rule = `[[rule]]\n${conditions}\ndecision = "${decision}"\n`;
      await writeFile(join(base, "data/policy.toml"), rule, { mode: 0o600 });
      server = await serveCodingAgent({
        workspace,
        dataDirectory: join(base, "data"),
      });
      client = clientOf(server);
    });
    afterAll(() => server.close());

    it("holds for tools that come upon the file, and they say that one was left out", async () => {
      for (const step of TOOLS) {
        const task = await play(client, step);
        const said = toJsonString(TaskSchema, task);
        expect(said, step).not.toContain(SECRET);
        expect(said, step).toContain(
          "left out: the policy asks about or denies them",
        );
        expect(pendingToolCalls(task), step).toEqual([]);
      }
    });

    it("holds for edits: whether one fits says nothing of what is in the file", async () => {
      const guess = (text: string, more: object): string =>
        `call replace ${JSON.stringify({ file_path: ".env", old_string: text, new_string: "", ...more })}`;
      const several = (text: string): string =>
        `call multi_edit ${JSON.stringify({ file_path: ".env", edits: [text, "none"].map((old_string) => ({ old_string, new_string: "" })) })}`;
      const answers = new Set<string>();
      for (const text of ["KEY=", "WRONG="]) {
        for (const step of [
          guess(text, { expected_replacements: 7 }),
          several(text),
        ]) {
          answers.add(messagesOf(await play(client, step)));
        }
        const fitting = await play(client, guess(text, {}));
        if (decision === "deny") {
          answers.add(messagesOf(fitting));
        } else {
          expect(pendingToolCalls(fitting).length).toBe(
            text === "KEY=" ? 1 : 0,
          );
        }
      }
      expect([...answers]).toHaveLength(1);
      expect([...answers].join()).toMatch(
        decision === "deny"
          ? "the policy denies reading it"
          : "cannot be edited like this",
      );
    });

    it("lets tools show all other files", async () => {
      const said = toJsonString(
        TaskSchema,
        await play(client, `call search_file_content {"pattern":"KEY|plain"}`),
      );
      expect(said).toContain("notes.txt:1:plain");
    });

    it("holds for commands that show content", async () => {
      for (const command of COMMANDS) {
        const task = await play(client, `run ${command}`);
        expect(toJsonString(TaskSchema, task), command).not.toContain(SECRET);
      }
    });
  });
});

/** Returns the error messages of the calls of a task. */
function messagesOf(task: Task): string {
  const calls = task.history.flatMap(toolCallsOf);
  return calls
    .map(({ result }) =>
      result.case === "error" ? result.value.message : "no error",
    )
    .join();
}

async function makeRepository(workspace: string): Promise<void> {
  await mkdir(join(workspace, "sub"), { recursive: true });
  const git = (...args: string[]): unknown =>
    execFileSync(
      "git",
      ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args],
      { cwd: workspace },
    );
  await writeFile(join(workspace, "notes.txt"), "plain\n");
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "one");
  await writeFile(join(workspace, ".env"), `KEY=${SECRET}\n`);
  await writeFile(join(workspace, "sub/.env"), `KEY=${SECRET}\n`);
  await symlink(".env", join(workspace, "linked.txt"));
  git("add", ".");
  git("commit", "-qm", "two");
  // Stages a file, and adds a filter of the repository that prints another
  // file.
  await writeFile(join(workspace, ".env"), `KEY=${SECRET}-staged\n`);
  git("add", ".");
  await writeFile(join(workspace, ".gitattributes"), "notes.txt filter=show\n");
  await writeFile(join(workspace, "notes.txt"), "plain\nchanged\n");
  git("config", "filter.show.clean", "cat .env >&2; cat");
}

async function play(client: DevtoolClient, script: string): Promise<Task> {
  let task = emptyTask();
  const request = { message: textMessage(crypto.randomUUID(), script) };
  for await (const event of streamMessage(
    client,
    request,
    AbortSignal.timeout(60_000),
  )) {
    task = reduceTask(task, event);
  }
  return task;
}
