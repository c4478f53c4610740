import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TaskState } from "@a2a-js/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import {
  BINDINGS,
  officialClient,
  textPart,
  userMessage,
} from "../a2a/v1/a2a-js-client.ts";
import { LEFT_TO_CI } from "../depth.ts";
import { PackedProject } from "./project.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";

/** The whole program of somebody who serves an agent of their own. */
const PROGRAM = `
import { createServer } from "@devtool/server";
import { agent } from "./agent.mjs";

const agents = { publisher: agent };
const { url } = await createServer({ agents, dataDirectory: process.argv[2], workspace: process.argv[3], token: "${TOKEN}" });
console.log(url);
`;

describe.skipIf(LEFT_TO_CI !== "")(
  `the packed server in an empty directory${LEFT_TO_CI}`,
  () => {
    let project: PackedProject;
    beforeAll(async () => {
      project = await PackedProject.install([], ["schema", "server"]);
      const page = await readFile(
        new URL("../../docs/own-agent.md", import.meta.url),
        "utf8",
      );
      const [, agent = ""] =
        /<!-- own-agent: agent -->\s+```js\n([\s\S]*?)```/.exec(page) ?? [];
      expect(agent.trim().split("\n")).toHaveLength(10);
      await writeFile(join(project.directory, "agent.mjs"), agent);
      await writeFile(join(project.directory, "serve.mjs"), PROGRAM);
    }, 400_000);

    it("comes with at most 12 packages of others, and at most 12 MB of files", async () => {
      const modules = join(project.directory, "node_modules");
      const entries = await readdir(modules, {
        recursive: true,
        withFileTypes: true,
      });
      const files = entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name));
      const sizes = await Promise.all(
        files.map(async (file) => (await stat(file)).size),
      );
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      const names = await packagesIn(modules);
      const others = names.filter((name) => !name.startsWith("@devtool/"));
      process.stdout.write(
        `server: ${(bytes / 1e6).toFixed(1)} MB, ${others.length} packages of others: ${others.join(", ")}\n`,
      );
      expect([others.length <= 12, bytes <= 12_000_000]).toEqual([true, true]);
    });

    it.each(BINDINGS)(
      "serves an agent of ten lines, which is killed while it asks and goes on: %s",
      async (binding) => {
        const data = join(
          project.directory,
          `data-${BINDINGS.indexOf(binding)}`,
        );
        await using first = await serve(data);
        const asked = await exchange(first, binding, "Hello.");
        expect(asked).toMatchObject({
          state: TaskState.TASK_STATE_INPUT_REQUIRED,
          calls: ["publish"],
        });
        expect(asked.said).toContain('Publish "Hello."?');
        await first.kill();
        await using second = await serve(data);
        const ended = await exchange(second, binding, "yes", asked);
        expect(ended).toMatchObject({
          state: TaskState.TASK_STATE_COMPLETED,
          calls: [],
        });
        expect(ended.said).toContain("Published: 6 characters.");
      },
    );

    async function serve(data: string): Promise<Served> {
      const child = spawn(
        process.execPath,
        ["serve.mjs", data, join(project.directory, "node_modules")],
        {
          cwd: project.directory,
          env: project.environment(),
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      const [url]: unknown[] = await once(
        createInterface({ input: child.stdout }),
        "line",
      );
      return {
        url: String(url),
        kill: () => kill(child),
        [Symbol.asyncDispose]: () => kill(child),
      };
    }
  },
);

interface Served extends AsyncDisposable {
  readonly url: string;
  kill(): Promise<void>;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** The names of the packages in a directory of modules, nested ones too. */
async function packagesIn(modules: string): Promise<string[]> {
  const lock = JSON.parse(
    await readFile(join(modules, ".package-lock.json"), "utf8"),
  );
  return Object.keys(lock.packages).map((path) =>
    path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
  );
}

/** The events that a client gets in an exchange. */
interface Told {
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState | undefined;
  readonly said: string;
  /** The names of the tools whose calls ask. */
  readonly calls: readonly string[];
}

/**
 * Sends a message with the official SDK, which knows nothing of the extension,
 * and reads its stream.
 */
async function exchange(
  { url }: Served,
  binding: (typeof BINDINGS)[number],
  text: string,
  place: { readonly taskId?: string; readonly contextId?: string } = {},
): Promise<Told> {
  const client = await officialClient({ url, token: TOKEN }, binding);
  const message = userMessage([textPart(text)], place);
  const updates = [];
  for await (const { payload } of client.sendMessageStream({
    tenant: "",
    message,
    configuration: undefined,
    metadata: {},
  })) {
    if (payload?.$case === "statusUpdate") updates.push(payload.value);
  }
  const last = updates.at(-1);
  const words = updates
    .flatMap(({ status }) => status?.message?.parts ?? [])
    .flatMap(({ content }) =>
      content?.$case === "text" ? [content.value] : [],
    );
  return {
    taskId: last?.taskId ?? "",
    contextId: last?.contextId ?? "",
    state: last?.status?.state,
    said: words.join("\n"),
    calls: words.flatMap((said) => /^May I call (\w+)/.exec(said)?.[1] ?? []),
  };
}
