import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { INPUTS, unchangedParts } from "../scripts/inputs.ts";

describe("what CI leaves out", () => {
  it.each([
    { what: "prose", changed: ["docs/push.md"], left: ["bindings", "peers"] },
    { what: "a tool of our agent", changed: ["packages/coding-agent/src/tool/tool.ts"], left: ["bindings", "peers"] },
    { what: "a binding", changed: ["docs/push.md", "bindings/go/binding.json"], left: ["peers"] },
    { what: "our client", changed: ["packages/client/src/index.ts"], left: ["bindings"] },
    { what: "the protos", changed: ["proto/devtool/v1alpha/task.proto"], left: [] },
    { what: "a dialect", changed: ["packages/server/src/transport/http/route.ts"], left: [] },
  ])("is $left when $what changed", ({ changed, left }) => {
    expect(unchangedParts(changed)).toEqual(left);
  });

  it("depends on files that there are", () => {
    const paths = Object.values(INPUTS).flat();
    expect(paths.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([]);
  });
});
