import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeGemini, startFakeGemini } from "../../packages/fake-gemini/src/index.ts";
import { parseStep } from "../../packages/server/src/agent/scripted/script.ts";
import { FAULTS } from "./faults.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const FROM_SOURCE = ["--experimental-transform-types", "--no-warnings", "-C", "@devtool/source"];

describe("docs/models.md", () => {
  let fake: FakeGemini;
  let home: string;
  let text: string;
  beforeAll(async () => {
    fake = await startFakeGemini();
    home = await mkdtemp(join(tmpdir(), "devtool-docs-"));
    text = await readFile(join(root, "docs/models.md"), "utf8");
  });
  afterAll(async () => {
    await fake[Symbol.asyncDispose]();
    await rm(home, { recursive: true });
  });
  const environment = () => ({ ...process.env, GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: fake.url });

  it("has code that runs as it stands", async () => {
    const code = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
    const args = [...FROM_SOURCE, "--input-type=module", "-e", code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env: environment() });
    expect(stdout).toMatch(/^gemini-pro-latest answers at http:/);
  });

  it("has commands that run as they stand", async () => {
    const [serveFake = "", serve = ""] = /```sh\n([\s\S]*?)```/.exec(text)?.[1]?.trim().split("\n") ?? [];
    const address = /\S+BASE_URL=(\S+)/.exec(serve)?.[1];
    const main = spawn("sh", ["-c", `exec ${serveFake}`], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(main.stdout, "data");
    expect(String(line)).toContain(address);
    main.kill();
    await once(main, "exit");
    const devtool = [process.execPath, ...FROM_SOURCE, join(root, "packages/cli/src/main.ts")].join(" ");
    const command = serve.replace(
      "devtool serve",
      `exec ${devtool} serve --port 0 --json --data ${home} --workspace ${home}`,
    );
    const server = spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "inherit"] });
    expect(String(await once(server.stdout, "data"))).toContain("http://127.0.0.1:");
    server.kill("SIGTERM");
    await once(server, "exit");
  });

  it("counts the faults that are tested", () => {
    expect(text).toContain(`${FAULTS.length} faults through a real server`);
  });
});

describe("docs/scripted-agent.md", () => {
  it("names every step as it is written", async () => {
    const text = await readFile(join(root, "docs/scripted-agent.md"), "utf8");
    const [table = ""] = text.split("Calls on neighbouring lines");
    const steps = [...table.matchAll(/^\| `([a-z0-9]+)([^`]*)`/gm)].filter(([, verb]) => verb !== undefined);
    const examples = steps.map(([, verb = "", rest = ""]) => `${verb}${exampleOf(rest)}`);
    expect(examples.length).toBeGreaterThan(22);
    expect(examples.filter((line) => parseStep(line) === undefined)).toEqual([]);
  });
});

/** What the table writes for the arguments of a step, filled in. */
function exampleOf(rest: string): string {
  return rest
    .replaceAll(/[[\]]/g, "")
    .replace("xN", "x2")
    .replace("CODE", "503")
    .replace("JSON", '{"a": 1}')
    .replaceAll(/\b(N|BYTES|MS|TIMES|SECONDS)\b/g, "2");
}
