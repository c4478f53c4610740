import { existsSync, globSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { AREAS, suitesOf, unchangedAreas } from "../scripts/areas.ts";
import { INPUTS, unchangedParts } from "../scripts/inputs.ts";

describe("what CI leaves out", () => {
  it.each([
    {
      what: "prose",
      changed: ["docs/push.md"],
      left: ["bindings", "peers", "workflows", "speed"],
    },
    {
      what: "a tool of our agent",
      changed: ["packages/coding-agent/src/tool/tool.ts"],
      left: ["bindings", "peers", "workflows"],
    },
    {
      what: "a binding",
      changed: ["docs/push.md", "bindings/go/binding.json"],
      left: ["peers", "workflows", "speed"],
    },
    {
      what: "our client",
      changed: ["packages/client/src/index.ts"],
      left: ["bindings", "workflows"],
    },
    {
      what: "the protos",
      changed: ["proto/devtool/v1alpha/task.proto"],
      left: ["workflows"],
    },
    {
      what: "a dialect",
      changed: ["packages/server/src/transport/http/route.ts"],
      left: ["workflows"],
    },
    {
      what: "a workflow",
      changed: [".github/workflows/ci.yaml"],
      left: ["bindings", "peers", "speed"],
    },
    { what: "a dependency", changed: ["pnpm-lock.yaml"], left: ["workflows"] },
  ])("is $left when $what changed", ({ changed, left }) => {
    expect(unchangedParts(changed)).toEqual(left);
  });

  it("depends on files that there are", () => {
    const paths = Object.values(INPUTS).flat();
    expect(
      paths.filter(
        (path) => !existsSync(new URL(`../${path}`, import.meta.url)),
      ),
    ).toEqual([]);
  });
});

describe("what pnpm test leaves to CI", () => {
  const FILES = globSync(["packages/*/{src,test}/**/*", "test/**/*"], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
  });
  const ALL = Object.keys(AREAS);

  it("is each area of which nothing has changed", () => {
    expect(unchangedAreas([])).toEqual(ALL);
    expect(unchangedAreas(["README.md", "packages/acp/src/index.ts"])).toEqual(
      ALL.filter((area) => area !== "acp"),
    );
    expect(unchangedAreas(["test/fleet-storm.test.ts"])).toEqual(
      ALL.filter((area) => area !== "a shared database"),
    );
  });

  it.each(ALL)(
    "has inputs and suites that there are, and is played when one of its suites changes: %s",
    (area) => {
      const { inputs = [], suites = [], always = [] } = AREAS[area] ?? {};
      expect(
        [...inputs, ...suites].filter(
          (path) => !FILES.some((file) => file.startsWith(path)),
        ),
      ).toEqual([]);
      expect(
        always.filter(
          (suite) =>
            !FILES.includes(suite) ||
            !suites.some((path) => suite.startsWith(path)),
        ),
      ).toEqual([]);
      const left = suitesOf(area, FILES).filter((path) =>
        path.endsWith(".test.ts"),
      );
      expect(left.length).toBeGreaterThan(0);
      expect(
        left.filter((suite) => unchangedAreas([suite]).includes(area)),
      ).toEqual([]);
    },
  );
});
