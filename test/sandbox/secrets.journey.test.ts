import { findSandbox } from "@devtool/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { playBusySession } from "./secrets/busy-session.ts";
import { type Allowed, leaksIn, type Sink } from "./secrets/leaks.ts";
import { prepareStage, type Stage } from "./secrets/stage.ts";

/** Where secrets must be to be of use. */
const ALLOWED: Allowed = {
  "model key": ["model"],
  "mcp env": ["child: its own server"],
  "dying mcp env": ["child: its own server"],
  "mcp header": ["mcp"],
  "mcp url parameter": ["mcp"],
  "session mcp header": ["mcp"],
  "session mcp url parameter": ["mcp"],
  "server token": ["stdout"],
};

/**
 * Attacks by a command that was approved unread; without a sandbox they would
 * succeed.
 */
const THEFT =
  "run eval 'cat ~/.ssh/* ~/.aws/* ../data/* ../home/.ssh/*; env; for file in /proc/[0-9]*/environ; do cat $file; done; echo tried'";

const search = {
  hidden: [],
  path: process.env.PATH ?? "",
  machine: process.arch,
};
const sandbox = await findSandbox("auto", search, AbortSignal.timeout(60_000));

describe("secrets (S12)", () => {
  let stage: Stage;
  let sinks: readonly Sink[];

  beforeAll(async () => {
    stage = await prepareStage();
    const played = await playBusySession(
      stage,
      sandbox.confines ? [THEFT] : [],
    );
    sinks = [...played, ...(await stage.stop())];
  }, 120_000);
  afterAll(() => stage[Symbol.asyncDispose]());

  it("appear only in the places that need them, after a session in which every part fails", () => {
    const bytes = sinks.reduce((sum, { text }) => sum + text.length, 0);
    console.info(
      `S12: ${Object.keys(stage.canaries).length} canaries in ${sinks.length} sinks of ${bytes} bytes`,
    );
    expect(Object.keys(stage.canaries).length).toBeGreaterThanOrEqual(20);
    expect(leaksIn(sinks, stage.canaries, ALLOWED)).toEqual([]);
  });

  it("were at risk: the session reached every failure that could have leaked them", () => {
    const textOf = (wanted: string): string =>
      sinks
        .flatMap(({ name, text }) => (name === wanted ? [text] : []))
        .join("\n");
    const events = textOf("events");
    expect(events).toContain("the model answered with status 401 (not with");
    expect(events).toContain("status 500");
    expect(events).toContain("failed: {");
    expect(events).toContain("shall I go on with {");
    expect(events).toContain("cannot start with {");
    expect(events).toMatch(/refusing - (failed|stopped): /);
    expect(events).toMatch(/withuser - (failed|stopped): /);
    expect(textOf("stderr")).toContain('MCP server \\"brought\\"');
    expect(events).toContain("There is no SECRET_KEY here.");
    if (sandbox.confines) expect(events).toMatch(/"text": ?"[^"]*tried/);
    expect(textOf("audit")).toContain("mcp__leaky__crash");
    expect(sinks.filter(({ name }) => name === "child").length).toBeGreaterThan(
      0,
    );
  });

  it("are found in the places that need them, so the search works (sabotage)", () => {
    expect(leaksIn(sinks, stage.canaries, {})).toEqual(
      Object.entries(ALLOWED)
        .filter(([name]) => name !== "dying mcp env")
        .map(([name, [place]]) => `${name} in ${place}`)
        .sort(),
    );
  });
});

describe("a server that prints its environment (sabotage of S12)", () => {
  it.skipIf(LEFT_TO_CI !== "")(`is detected${LEFT_TO_CI}`, async () => {
    await using stage = await prepareStage([
      "--import",
      "data:text/javascript,console.error(process.env)",
    ]);
    const leaks = leaksIn(await stage.stop(), stage.canaries, ALLOWED);
    const names = [
      "AWS_SECRET_ACCESS_KEY",
      "DATABASE_URL",
      "DEVTOOL_TOKEN",
      "GITHUB_TOKEN",
      "model key",
    ];
    expect(leaks).toEqual(names.map((name) => `${name} in stderr`));
  });
});

describe("the search for secrets", () => {
  it("finds them in plain text, in base64 at any offset, in hex and URL-encoded", () => {
    const canaries = { key: "canary/1234567890+abcdef" };
    const forms = [
      `x${canaries.key}y`,
      ...["", "a", "ab"].map((before) =>
        Buffer.from(`${before}${canaries.key}zz`).toString("base64"),
      ),
      Buffer.from(canaries.key).toString("hex"),
      encodeURIComponent(canaries.key),
    ];
    for (const text of forms) {
      expect(leaksIn([{ name: "log", text }], canaries, {}), text).toEqual([
        "key in log",
      ]);
    }
    expect(
      leaksIn([{ name: "log", text: "canary/123456789" }], canaries, {}),
    ).toEqual([]);
  });
});
