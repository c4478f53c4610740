import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));
const MAIN = join(here, "../packages/cli/dist/main.js");
const ACPX = join(here, "../peers/node_modules/acpx/dist/cli.js");
const PYTHON = join(here, "acp-port/.venv/bin/python");
const run = promisify(execFile);

describe("ACP clients of others", () => {
  let base: string;
  let work: string;

  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "devtool-acp-clients-"));
    work = join(base, "work");
    await mkdir(work);
  });
  afterEach(() => rm(base, { recursive: true }));

  it("acpx prompts, approves and ends", async (context) => {
    if (!existsSync(ACPX)) return context.skip("acpx is missing: run `pnpm install:peers`");
    const agent = `${process.execPath} ${MAIN} acp --data ${join(base, "data")}`;
    const prompt = "write made.txt made\ntext Done.";
    const args = [ACPX, "--agent", agent, "--cwd", work, "--approve-all", "--format", "json", "exec", prompt];
    const { stdout } = await run(process.execPath, args, { env: { ...process.env, HOME: base } });
    expect(stdout).toContain('"stopReason":"end_turn"');
    expect(await readFile(join(work, "made.txt"), "utf8")).toBe("made");
  });

  it("the Python SDK prompts, approves and ends", async (context) => {
    if (!existsSync(PYTHON)) return context.skip("the Python SDK is missing: run `pnpm install:interop`");
    const agent = [process.execPath, MAIN, "acp", "--data", join(base, "data")];
    const { stdout } = await run(PYTHON, [join(here, "acp-port/prompt.py"), work, ...agent]);
    expect(stdout).toBe("end_turn Done.\n");
    expect(await readFile(join(work, "python.txt"), "utf8")).toBe("hi");
  });
});
