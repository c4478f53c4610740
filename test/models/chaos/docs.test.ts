import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseInstruction } from "@devtool/coding-agent/script";
import { type FakeModel, startFakeGemini } from "@devtool/gemini/testing";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FAULTS } from "./faults.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const FROM_SOURCE = [
  "--experimental-transform-types",
  "--no-warnings",
  "-C",
  "@devtool/source",
];

describe("docs/models.md", () => {
  let fake: FakeModel;
  let home: string;
  let text: string;
  beforeAll(async () => {
    fake = await startFakeGemini();
    home = temporaryDirectory();
    text = fileText(root, "docs/models.md");
  });
  afterAll(() => fake[Symbol.asyncDispose]());
  const environment = () => ({
    ...process.env,
    GEMINI_API_KEY: "none",
    GOOGLE_GEMINI_BASE_URL: fake.url,
  });

  it("has code that runs as it stands", async () => {
    const code = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
    const args = [...FROM_SOURCE, "--input-type=module", "-e", code];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: root,
      env: environment(),
    });
    expect(stdout).toMatch(/^gemini-pro-latest answers at http:/);
  });

  it("has commands that run as they stand", async () => {
    const commands =
      /```sh\nnpx -y pnpm@12 (\S+) --port (\d+)\n(.*BASE_URL=)(\S+) npx -y pnpm@12 devtool serve\n```/;
    const [, script = "", port = "", environment = "", address = ""] =
      commands.exec(text) ?? [];
    expect(address).toBe(`http://127.0.0.1:${port}`);
    // Any free port in place of the one that is shown, which somebody may use.
    const main = spawn(
      "sh",
      ["-c", `exec ${await programOf(script)} --port 0`],
      {
        cwd: root,
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const line = await firstOutputOf(main);
    const [url = ""] = /http:\S+/.exec(line) ?? [];
    const devtool = [
      process.execPath,
      ...FROM_SOURCE,
      join(root, "packages/cli/src/main.ts"),
    ].join(" ");
    const serve = `${environment}${url} exec ${devtool} serve --port 0 --json --data ${home}/data --workspace ${home}/work`;
    const server = spawn("sh", ["-c", serve], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    expect(await firstOutputOf(server)).toContain("http://127.0.0.1:");
    for (const child of [server, main]) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  });

  it("starts a fake Gemini that says in a sentence that its port is in use", async () => {
    const program = await programOf("fake-gemini");
    const { port } = new URL(fake.url);
    const failed = promisify(execFile)(
      "sh",
      ["-c", `${program} --port ${port}`],
      { cwd: root },
    );
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: `fake-gemini: port ${port} is in use: choose another with --port, or 0 for a free one\n`,
    });
  });

  it("counts the faults that are tested", () => {
    expect(text).toContain(`${FAULTS.length} faults through a real server`);
  });

  it("names every step of a script as it is written", () => {
    const [, section = ""] = text.split("\n## The scripted agent\n");
    const [table = ""] = section.split("Calls on adjacent lines");
    const steps = [...table.matchAll(/^\| `([a-z0-9]+)([^`]*)`/gm)].filter(
      ([, verb]) => verb !== undefined,
    );
    const examples = steps.map(
      ([, verb = "", rest = ""]) => `${verb}${exampleOf(rest)}`,
    );
    expect(examples.length).toBeGreaterThan(22);
    expect(
      examples.filter((line) => parseInstruction(line) === undefined),
    ).toEqual([]);
  });
});

/**
 * Returns what a program writes first, or throws when it ends without a word.
 */
async function firstOutputOf(
  child: ChildProcessByStdio<null, Readable, null>,
): Promise<string> {
  const ended = once(child, "exit").then(([code]) =>
    Promise.reject(new Error(`ended with ${code} and said nothing`)),
  );
  const [output] = await Promise.race([once(child.stdout, "data"), ended]);
  return String(output);
}

/** The program that a script of the repository starts once all is built. */
async function programOf(script: string): Promise<string> {
  const { scripts } = JSON.parse(fileText(root, "package.json"));
  return scripts[script].split(" && ").at(-1);
}

/** Replaces the placeholders in a step of the table by values. */
function exampleOf(rest: string): string {
  return rest
    .replaceAll(/[[\]]/g, "")
    .replace("xN", "x2")
    .replace("CODE", "503")
    .replace("JSON", '{"a": 1}')
    .replaceAll(/\b(N|BYTES|MS|TIMES|SECONDS)\b/g, "2");
}
