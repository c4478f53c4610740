import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { PROBES, type Stage } from "./acp/probes.ts";
import { pathWith, REAL_AGENTS, type RealAgent } from "./acp/real-agents.ts";
import { type ServerProcess, startServing } from "./crash/server-process.ts";
import { DEPTH, LEFT_TO_CI } from "./depth.ts";

const PAGE = fileURLToPath(new URL("../docs/agents.md", import.meta.url));

for (const { name, missing } of REAL_AGENTS) if (missing !== undefined) console.info(`skipped: ${name} ${missing}`);

describe("docs/agents.md", () => {
  it("has a row for each agent that is tested, and a column for each test", () => {
    const rows = recordedRows();
    expect(Object.keys(rows)).toEqual(REAL_AGENTS.map(({ name, version }) => `\`${name}\` ${version}`));
    for (const row of Object.values(rows)) expect(Object.keys(row)).toEqual(Object.keys(PROBES));
  });
});

for (const agent of REAL_AGENTS) {
  describe.skipIf(!isPlayed(agent))(`${agent.name} behind the port${LEFT_TO_CI}`, () => {
    it("does what docs/agents.md records, over A2A 0.3", async () => {
      await using stage = await stageOf(agent);
      const found: [string, string][] = [];
      for (const [name, probe] of Object.entries(PROBES)) found.push([name, await resultOf(probe(stage))]);
      expect(recordedRows()[`\`${agent.name}\` ${agent.version}`]).toEqual(Object.fromEntries(found));
    }, 600_000);
  });
}

/** Where the agents are not installed, all but the deep tier leave them out. */
function isPlayed({ missing }: RealAgent): boolean {
  return DEPTH === "deep" || (DEPTH === "ci" && missing === undefined);
}

/** Returns the cell of a table. An error is not a result: it is none of the words of the table. */
async function resultOf(probing: Promise<string>): Promise<string> {
  try {
    return await probing;
  } catch (reason) {
    return String(reason);
  }
}

/** Serves an agent by its name, as its user would: with its program in PATH, and its configuration in HOME. */
async function stageOf(agent: RealAgent): Promise<Stage & AsyncDisposable> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "devtool-acp-home-")));
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), "devtool-acp-")));
  const model = await agent.startModel();
  const PATH = pathWith(agent, join(home, "bin"));
  const environment = { PATH, HOME: home, ...agent.configure(home, model.url) };
  const flags = ["--agent", agent.name, "--data", join(home, "data"), "--workspace", workspace];
  let server: ServerProcess = await startServing(flags, environment);
  return {
    agent,
    workspace,
    server: () => server,
    async restart() {
      await server.kill();
      server = await startServing(flags, environment);
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await model[Symbol.asyncDispose]();
      for (const directory of [home, workspace]) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Returns the table of docs/agents.md: the cells of each agent by their columns. */
function recordedRows(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const [, table = ""] = readFileSync(PAGE, "utf8").split("<!-- recorded: agents -->\n");
  const cells = (line: string): string[] =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const [head = "", , ...rows] = table.split("\n\n")[0]?.trim().split("\n") ?? [];
  const [, ...columns] = cells(head);
  return Object.fromEntries(
    rows.map((row) => {
      const [agent = "", ...results] = cells(row);
      return [agent, Object.fromEntries(columns.map((column, index) => [column, results[index] ?? ""]))];
    }),
  );
}
