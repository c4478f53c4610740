import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { BINDING_KILLS } from "../acp/binding-kills.ts";
import { BINDING_PROBES } from "../acp/binding-probes.ts";
import { BINDINGS } from "../acp/bindings.ts";
import { asksToWrite, PROBES } from "../acp/probes.ts";
import { REAL_AGENTS, type RealAgent } from "../acp/real-agents.ts";
import {
  agentsTable,
  type Cells,
  IS_RECORDING,
  readRecorded,
  recordAgent,
} from "../acp/recorded.ts";
import { stageOf } from "../acp/stage.ts";
import { DEPTH, LEFT_TO_CI, LEFT_TO_DEEP } from "../depth.ts";

/** The kills take minutes for each agent. */
const leftToDeep = IS_RECORDING ? "" : LEFT_TO_DEEP;
const PAGE = fileURLToPath(new URL("../../docs/agents.md", import.meta.url));

for (const { name, missing } of REAL_AGENTS) {
  if (missing !== undefined) console.info(`skipped: ${name} ${missing}`);
}

describe("the record of agents", () => {
  it("has each agent that is tested, with each capability and each binding", () => {
    const recorded = readRecorded();
    expect(Object.keys(recorded).toSorted()).toEqual(
      REAL_AGENTS.map(({ name }) => name).toSorted(),
    );
    for (const { name, version } of REAL_AGENTS) {
      const {
        capabilities = {},
        bindings = {},
        kills = {},
        ...rest
      } = recorded[name] ?? {};
      expect(rest).toEqual({ version });
      expect(Object.keys(capabilities)).toEqual(Object.keys(PROBES));
      expect(Object.keys(bindings)).toEqual(Object.keys(BINDINGS));
      for (const cells of Object.values(bindings)) {
        expect(Object.keys(cells)).toEqual(Object.keys(BINDING_PROBES));
      }
      expect(Object.keys(kills)).toEqual(Object.keys(BINDINGS));
      for (const cells of Object.values(kills)) {
        expect(Object.keys(cells)).toEqual(Object.keys(BINDING_KILLS));
      }
    }
  });

  it("is the table of docs/agents.md (made anew by pnpm agents-matrix)", () => {
    expect(readFileSync(PAGE, "utf8")).toContain(
      `<!-- recorded: agents -->\n${agentsTable(readRecorded())}\n`,
    );
  });
});

for (const agent of REAL_AGENTS) {
  describe.skipIf(!isPlayed(agent))(
    `${agent.name} behind the port${LEFT_TO_CI}`,
    () => {
      it("does what docs/agents.md records, over A2A 0.3", async () => {
        await using stage = await stageOf(agent);
        const capabilities = await resultsOf(PROBES, stage);
        if (IS_RECORDING) {
          recordAgent(agent.name, { version: agent.version, capabilities });
        }
        const recorded = {
          "A2A 0.3": readRecorded()[agent.name]?.capabilities ?? {},
        };
        expect(differences({ "A2A 0.3": capabilities }, recorded)).toEqual([]);
      }, 900_000);

      it.skipIf(agent.writes === undefined)(
        "asks before it writes a file",
        async () => {
          await using stage = await stageOf(agent);
          const path = join(stage.workspace, "written.txt");
          expect(
            await asksToWrite(stage, agent.writes?.(path) ?? "", path),
          ).toBe(true);
        },
        900_000,
      );

      it("does what docs/agents.md records, over each binding", async () => {
        await using stage = await stageOf(agent);
        const bindings: Record<string, Cells> = {};
        for (const binding of Object.keys(BINDINGS)) {
          await using conversation = await stage.over(binding);
          bindings[binding] = await resultsOf(BINDING_PROBES, conversation);
        }
        if (IS_RECORDING) {
          recordAgent(agent.name, { version: agent.version, bindings });
        }
        expect(
          differences(bindings, readRecorded()[agent.name]?.bindings ?? {}),
        ).toEqual([]);
      }, 1_800_000);

      const kills = `does what docs/agents.md records when it or its server is killed, over each binding${leftToDeep}`;
      it.skipIf(leftToDeep !== "")(
        kills,
        async () => {
          await using stage = await stageOf(agent);
          const found: Record<string, Cells> = {};
          for (const binding of Object.keys(BINDINGS)) {
            found[binding] = await resultsOf(
              BINDING_KILLS,
              stage.killsOver(binding),
            );
          }
          if (IS_RECORDING) {
            recordAgent(agent.name, { version: agent.version, kills: found });
          }
          expect(
            differences(found, readRecorded()[agent.name]?.kills ?? {}),
          ).toEqual([]);
        },
        1_800_000,
      );
    },
  );
}

/** Where the agents are not installed, all but the deep tier leave them out. */
function isPlayed({ missing, isOptional = false }: RealAgent): boolean {
  return (
    DEPTH !== "quick" &&
    (missing === undefined || (DEPTH === "deep" && !isOptional))
  );
}

/**
 * Plays probes one after the other. An error is the cell of its probe: it is
 * none of the words of the table.
 */
async function resultsOf<S>(
  probes: Readonly<Record<string, (stage: S) => Promise<string>>>,
  stage: S,
): Promise<Cells> {
  const found: [string, string][] = [];
  for (const [name, probe] of Object.entries(probes)) {
    found.push([name, await probe(stage).catch(String)]);
  }
  return Object.fromEntries(found);
}

/**
 * Returns a line for each cell that is not as recorded, so that the report of a
 * failed run names it.
 */
function differences(
  found: Readonly<Record<string, Cells>>,
  recorded: Readonly<Record<string, Cells>>,
): string[] {
  const lines: string[] = [];
  for (const binding of new Set([
    ...Object.keys(found),
    ...Object.keys(recorded),
  ])) {
    const [cells = {}, expected = {}] = [found[binding], recorded[binding]];
    for (const probe of new Set([
      ...Object.keys(cells),
      ...Object.keys(expected),
    ])) {
      const [cell = "nothing", wanted = "nothing"] = [
        cells[probe],
        expected[probe],
      ];
      // Where an agent's timing decides, either of two words is recorded.
      if (!wanted.split(" or ").includes(cell)) {
        lines.push(`${binding} / ${probe}: ${cell}, recorded ${wanted}`);
      }
    }
  }
  return lines;
}
