import { readdirSync, readFileSync } from "node:fs";
import { serverCases } from "@devtool/conformance/testing";
import { describe, expect, it } from "vitest";
import { readMatrix } from "../interop/matrix.ts";
import { knownFailingFile, knownFailingOf } from "./known-failing.ts";
import { conformancePage } from "./page.ts";
import { peers } from "./peers.ts";

describe("docs/conformance.md", () => {
  it("has the recorded results (otherwise: npx -y pnpm@12 interop-matrix)", () => {
    const page = readFileSync(
      new URL("../../docs/conformance.md", import.meta.url),
      "utf8",
    );
    expect(page).toBe(conformancePage());
  });

  it("has a row for each official SDK in both roles", () => {
    const played = (role: string): string[] =>
      readMatrix().flatMap((row) => (row.role === role ? [row.peer] : []));
    const all = [
      "@a2a-js/sdk 0.3.14",
      "@a2a-js/sdk 1.3.0",
      "Go a2a-go 0.3.3",
      "Go a2a-go 2.4.0",
      "Python a2a-sdk 0.3.26",
      "Python a2a-sdk 1.3.0",
    ];
    const java = "Java a2a-java-sdk 0.3.3";
    expect(new Set(played("client"))).toEqual(
      // The ADK is played as a caller of agents only.
      new Set([...all, java, "Google ADK 2.13.0", "Rust a2a-client-lf 0.2.9"]),
    );
    expect(new Set(played("server"))).toEqual(
      new Set([...all, java, "Rust a2a-server-lf 0.5.3"]),
    );
  });
});

describe("the lists of known failures", () => {
  it("are one for each peer", () => {
    const files = readdirSync(new URL("known-failing/", import.meta.url));
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
