import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unifiedDiff } from "./change-text.ts";

describe("the unified diff of a change", () => {
  it("has the lines that differ, without those around them", () => {
    const oldContent = "one\ntwo\nthree\n";
    expect(
      unifiedDiff({
        filePath: "/w/a",
        oldContent,
        newContent: "one\nTWO\nthree\n",
      }),
    ).toBe("--- /w/a\n+++ /w/a\n@@ -2,1 +2,1 @@\n-two\n+TWO\n");
  });

  it("is against nothing for a new file", () => {
    expect(unifiedDiff({ filePath: "/w/a", newContent: "one\n" })).toBe(
      "--- /dev/null\n+++ /w/a\n@@ -0,0 +1,1 @@\n+one\n",
    );
  });

  it("is one that `patch` turns the old content into the new one with", () => {
    const directory = temporaryDirectory();
    const file = join(directory, "file");
    const content = fc
      .array(fc.constantFrom("a\n", "b\n", "c\n", "\n", "end"))
      .map((lines) => lines.join(""));
    const property = fc.property(content, content, (oldContent, newContent) => {
      if (oldContent === newContent) return;
      writeFileSync(file, oldContent);
      const input = unifiedDiff({ filePath: file, oldContent, newContent });
      const { status, stdout, stderr } = spawnSync(
        "patch",
        ["--batch", "--silent", file],
        { input },
      );
      expect({ status, said: `${stdout}${stderr}` }).toEqual({
        status: 0,
        said: "",
      });
      // It removes a file that becomes empty.
      if (newContent !== "") {
        expect(readFileSync(file, "utf8")).toBe(newContent);
      }
    });
    fc.assert(property, { numRuns: 60 });
  });
});
