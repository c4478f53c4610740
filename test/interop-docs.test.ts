import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readMatrix } from "./interop/matrix.ts";
import { matrixPage } from "./interop/matrix-page.ts";

describe("docs/interop.md", () => {
  it("has the recorded results (otherwise: npx -y pnpm@12 interop-matrix)", () => {
    const page = readFileSync(
      new URL("../docs/interop.md", import.meta.url),
      "utf8",
    );
    expect(page).toBe(matrixPage(readMatrix()));
  });

  it("has a row for each official SDK in both roles", () => {
    const peers = (role: string): string[] =>
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
    expect(new Set(peers("client"))).toEqual(
      // The ADK is played as a caller of agents only.
      new Set([...all, java, "Google ADK 2.13.0", "Rust a2a-client-lf 0.2.9"]),
    );
    expect(new Set(peers("server"))).toEqual(
      new Set([...all, java, "Rust a2a-server-lf 0.5.3"]),
    );
  });
});
