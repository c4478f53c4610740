import { readdirSync, readFileSync } from "node:fs";
import { serverCases } from "@devtool/conformance";
import { describe, expect, it } from "vitest";
import {
  knownFailingFile,
  knownFailingOf,
} from "./conformance/known-failing.ts";
import { conformancePage } from "./conformance/page.ts";
import { peers } from "./conformance/peers.ts";

describe("docs/conformance.md", () => {
  it("shows what is known to fail (else: npx -y pnpm@12 conformance-matrix)", () => {
    const page = readFileSync(
      new URL("../docs/conformance.md", import.meta.url),
      "utf8",
    );
    expect(page).toBe(conformancePage());
  });
});

describe("the lists of known failures", () => {
  it("are one for each peer", () => {
    const files = readdirSync(
      new URL("conformance/known-failing/", import.meta.url),
    );
    const expected = peers().map(({ name }) =>
      knownFailingFile(name).pathname.split("/").at(-1),
    );
    expect(files.toSorted()).toEqual(expected.toSorted());
  });

  it("name cases that there are, in ways in which the peer can be spoken to", () => {
    const ids = { "0.3": idsOf("0.3"), "1.0": idsOf("1.0") };
    const wrong = peers().flatMap(({ name, ways }) =>
      knownFailingOf(name).failures.filter(
        ({ id, binding, protocolVersion }) =>
          !ways.some(
            (way) =>
              way.protocolVersion === protocolVersion &&
              ["", way.binding].includes(binding) &&
              ids[way.protocolVersion].includes(id),
          ),
      ),
    );
    expect(wrong).toEqual([]);
  });
});

function idsOf(version: "0.3" | "1.0"): string[] {
  return serverCases(version).cases.map(({ id }) => id);
}
