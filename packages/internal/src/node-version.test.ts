import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { nodeProblem } from "./node-version.ts";

describe("nodeProblem", () => {
  it.each(["22.19.0", "22.23.3", "23.0.0", "24.21.0", "30.0.0"])(
    "lets Node %s run",
    (version) => {
      expect(nodeProblem(version)).toBe("");
    },
  );

  it.each(["12.22.12", "20.20.2", "22.18.9", "22.2.0"])(
    "refuses Node %s in words",
    (version) => {
      expect(nodeProblem(version)).toBe(
        `Node ${version} is too old: install Node 22.19 or newer`,
      );
    },
  );

  it("agrees with the packages, the root and the engines that pnpm checks", () => {
    const names = ["schema", "client", "server", "conformance", "cli"].map(
      (name) => `packages/${name}`,
    );
    for (const directory of [...names, "bindings/typescript", "."]) {
      const { engines } = JSON.parse(read(`${directory}/package.json`));
      expect(engines.node, directory).toBe(">=22.19");
    }
    const [, checked = ""] =
      /^nodeVersion: (.*)$/m.exec(read("pnpm-workspace.yaml")) ?? [];
    expect(checked).toBe("22.19.0");
  });
});

function read(path: string): string {
  return readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
}
