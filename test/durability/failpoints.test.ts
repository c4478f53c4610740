import { globSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { fileText } from "@devtool/internal/testing/files";
import { describe, expect, it } from "vitest";
import { LEFT_TO_CI, roundsOf, seedOf } from "../depth.ts";
import { untilCaught } from "./crash/until-caught.ts";
import { checkFailpoints } from "./failpoints/gate.ts";
import {
  type FailpointReport,
  type KillOptions,
  killAt,
} from "./failpoints/kill-cycles.ts";
import { sceneOf } from "./failpoints/scenes.ts";
import type { SourceFile } from "./failpoints/steps.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const kills = roundsOf("DEVTOOL_FAILPOINT_KILLS", {
  quick: 1,
  ci: 1,
  deep: 50,
});
/** One failpoint of this many is tried: the seed draws which. */
const ONE_IN = roundsOf("DEVTOOL_FAILPOINT_SHARE", {
  quick: 48,
  ci: 6,
  deep: 1,
});
const seed = seedOf();
/** Kills at the failpoints whose names hold this, to look at one of them. */
const chosen = process.env.DEVTOOL_FAILPOINTS ?? "";
/** Servers that are killed side by side. */
const LANES = 4;
const found = checkFailpoints(serverFiles());

describe("the failpoints of the server (R3)", () => {
  it("surround everything that it persists, emits and spawns", () => {
    const { failpoints, steps, breaches, unused } = found;
    console.info(
      `R3: ${failpoints.length} failpoints around ${steps} calls:\n${failpoints.join("\n")}`,
    );
    expect(breaches).toEqual([]);
    expect(unused).toEqual([]);
    expect(failpoints.length).toBeGreaterThanOrEqual(20);
  });

  it("have a scene each, in which they are passed", () => {
    for (const failpoint of found.failpoints) {
      expect(sceneOf(failpoint)).toBeDefined();
    }
    expect(() => sceneOf("devtool:unknown.write.before")).toThrow(
      "no scene leads to",
    );
  });

  const between = (body: string): string =>
    `async function* keep() {\n  failpoint("devtool:x.keep.before");\n  ${body}\n  failpoint("devtool:x.keep.after");\n}`;
  const calls = {
    "writes a file": "await writeFile(path, text);",
    "opens a file to write it": 'await open(path, "wx");',
    "writes to a database": "this.#statements.putEvents.run(id, data);",
    "starts a process": "const child = spawn(program, args);",
    "starts a thread": "const worker = new Worker(code);",
    "answers a client": "response.end(body);",
    "shows an event": "yield { event: shownEvent(event) };",
    "sends a request": "await fetch(url);",
  };
  for (const [what, body] of Object.entries(calls)) {
    it(`are missed where a function ${what}`, () => {
      expect(breachesOf(`async function* keep() { ${body} }`)).toHaveLength(1);
      expect(breachesOf(between(body))).toEqual([]);
      expect(
        breachesOf(between("").replace("\n}", `\n  ${body}\n}`)),
      ).toHaveLength(1);
    });
  }

  it("may lie in the callers of a function that no other file can call", () => {
    const helper = "function save() { return writeFile(path, text); }";
    expect(breachesOf(`${helper}\n${between("save();")}`)).toEqual([]);
    expect(breachesOf(`export ${helper}\n${between("save();")}`)).toHaveLength(
      1,
    );
    expect(
      breachesOf(
        `${helper}\n${between("save();")}\nfunction other() { save(); }`,
      ),
    ).toHaveLength(1);
  });

  it("have names that are written out, once each", () => {
    expect(breachesOf("failpoint(name);")).toEqual([
      "a computed name is not a name of a failpoint",
    ]);
    expect(breachesOf('failpoint("store.append");')).toHaveLength(1);
    expect(breachesOf(`${between("")}\n${between("")}`)).toHaveLength(2);
  });
});

function breachesOf(text: string): readonly string[] {
  return checkFailpoints([{ path: "packages/server/src/store/x.ts", text }])
    .breaches;
}

describe.concurrent("a server that is killed at a failpoint (R3)", () => {
  const failpoints = found.failpoints
    .filter((name) => name.includes(chosen))
    .filter((_name, index) => chosen !== "" || (index + seed) % ONE_IN === 0);

  it(`loses nothing, runs nothing twice and leaves nothing stuck, ${kills} times at each of ${failpoints.length}`, {
    // Seconds for each kill, and minutes for the starts of servers on a busy
    // machine.
    timeout: 300_000 + failpoints.length * kills * 20_000,
  }, async () => {
    const reports = await inLanes(failpoints, (failpoint) =>
      killAt({ failpoint, kills, sabotage: "none" }),
    );
    const total = sumOf(reports);
    console.info(`R3: ${JSON.stringify(total)}`);
    expect(
      reports.filter(
        ({ violations, missed }) => violations.length > 0 || missed > 0,
      ),
    ).toEqual([]);
    expect(total.kills).toBe(failpoints.length * kills);
  });

  const sabotages: readonly {
    readonly what: string;
    readonly options: Omit<KillOptions, "kills">;
    readonly found: RegExp;
  }[] = [
    {
      what: "shows events before they are durable",
      options: { failpoint: "devtool:call.run.after", sabotage: "late commit" },
      found: /lost: \d/,
    },
    {
      what: "forgets what it has to post",
      // What is forgotten never comes, however long it is waited for.
      options: {
        failpoint: "devtool:push.post.before",
        sabotage: "forget posts",
        postTimeoutMs: 1_000,
      },
      found: /events of .* were not posted/,
    },
    {
      what: "forgets why it did something",
      options: {
        failpoint: "devtool:call.run.after",
        sabotage: "forget audit",
      },
      found: /audit log: /,
    },
    {
      what: "forgets that a command had begun",
      options: {
        failpoint: "devtool:call.run.after",
        sabotage: "forget starts",
      },
      found: /ranTwice: \d/,
    },
    {
      what: "forgets that an edit had begun",
      options: {
        failpoint: "devtool:workspace.rename.after",
        sabotage: "forget starts",
      },
      found: /file of |failed/,
    },
  ];
  for (const { what, options, found } of sabotages) {
    it.skipIf(LEFT_TO_CI !== "")(
      `is caught when it ${what} (sabotage of R3)${LEFT_TO_CI}`,
      { timeout: 10 * 60_000 },
      async () => {
        await untilCaught(async () => {
          const { violations } = await killAt({ ...options, kills: 1 });
          return violations.filter((violation) => found.test(violation)).length;
        });
      },
    );
  }
});

/** Does some work for each item, a few side by side. */
async function inLanes(
  names: readonly string[],
  work: (name: string) => Promise<FailpointReport>,
): Promise<FailpointReport[]> {
  const waiting = [...names];
  const reports: FailpointReport[] = [];
  const lane = async (): Promise<void> => {
    for (
      let name = waiting.shift();
      name !== undefined;
      name = waiting.shift()
    ) {
      const report = await work(name);
      reports.push(report);
      console.info(`R3: ${JSON.stringify(report)}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return reports;
}

function sumOf(
  reports: readonly FailpointReport[],
): Omit<FailpointReport, "failpoint" | "violations"> {
  const total = {
    kills: 0,
    missed: 0,
    tasks: 0,
    events: 0,
    toolsRun: 0,
    interrupted: 0,
  };
  for (const report of reports) {
    for (const name of [
      "kills",
      "missed",
      "tasks",
      "events",
      "toolsRun",
      "interrupted",
    ] as const) {
      total[name] += report[name];
    }
  }
  return total;
}

/**
 * The code of the server, of our agent, its policy, sandbox, model and MCP
 * servers, and of the command that starts them.
 */
function serverFiles(): SourceFile[] {
  const server = globSync(
    "packages/{server,coding-agent,policy,sandbox,gemini,internal,mcp}/src/**/*.ts",
    { cwd: root },
  );
  const serve = importsOf("packages/cli/src/command/serve.ts");
  return [...server, ...serve]
    .filter((path) => !/\.(test|contract)\.ts$|\/testing\//.test(path))
    .map((path) => ({ path, text: fileText(root, path) }));
}

/** A file and all that it imports from its package. */
function importsOf(path: string, known: Set<string> = new Set()): Set<string> {
  if (known.has(path)) return known;
  known.add(path);
  for (const [, specifier = ""] of fileText(root, path).matchAll(
    /(?:from |import\()"(\.[^"]+)"/g,
  )) {
    importsOf(relative(root, join(root, dirname(path), specifier)), known);
  }
  return known;
}
