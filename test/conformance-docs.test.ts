import { readFileSync } from "node:fs";
import { Outcome } from "@devtool/schema/conformance";
import { describe, expect, it } from "vitest";
import { conformancePage, evidencePage } from "./conformance/page.ts";
import { readReports } from "./conformance/recorded.ts";

describe("docs/conformance.md", () => {
  const read = (name: string): string => readFileSync(new URL(`../docs/${name}`, import.meta.url), "utf8");

  it("and its evidence show what was recorded (else: node scripts/conformance-matrix.ts)", () => {
    expect(read("conformance.md")).toBe(conformancePage(readReports()));
    expect(read("conformance-evidence.md")).toBe(evidencePage(readReports()));
  });

  it("has each peer with its version", () => {
    expect([...new Set(readReports().map(({ subject }) => subject))].toSorted()).toEqual([
      "@a2a-js/sdk 0.3.14",
      "@a2a-js/sdk 1.3.0",
      "Go a2a-go 0.3.3",
      "Go a2a-go 2.4.0",
      "Python a2a-sdk 0.3.26",
      "Python a2a-sdk 1.3.0",
      "devtool 0.1.0",
      "gemini-cli-a2a-server 0.25.2",
    ]);
  });

  it("calls nothing red without what was sent and what came back", () => {
    const bare = readReports().flatMap(({ subject, cases }) =>
      cases
        .filter(({ outcome, exchanges }) => outcome === Outcome.FAILED && exchanges.length === 0)
        .map(({ id }) => `${subject}: ${id}`),
    );
    expect(bare).toEqual([]);
  });

  it("would not be the same if one case had come out otherwise", () => {
    const [first, ...others] = readReports();
    const broken = first && {
      ...first,
      requirements: first.requirements.map((item, index) =>
        index === 0 ? { ...item, outcome: Outcome.FAILED } : item,
      ),
    };
    expect(broken && conformancePage([broken, ...others])).not.toBe(read("conformance.md"));
  });
});
