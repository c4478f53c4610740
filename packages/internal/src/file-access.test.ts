import { describe, expect, it } from "vitest";
import { accessUnknown, grants, isOfAnother, OTHERS } from "./file-access.ts";

/** As Windows reports each file. */
const REPORTED = { mode: 0o100666, uid: 0 };
const ANOTHER = { mode: 0o100600, uid: (process.getuid?.() ?? 0) + 1 };

describe("who can access a file", () => {
  it("is read from its mode and owner where the system has them", () => {
    expect(grants(REPORTED, OTHERS, "linux")).toBe(true);
    expect(grants(ANOTHER, OTHERS, "darwin")).toBe(false);
    expect(isOfAnother(ANOTHER, "linux")).toBe(true);
    expect(accessUnknown("linux")).toBe("");
  });

  it("is not known on Windows, and said so", () => {
    expect(grants(REPORTED, OTHERS, "win32")).toBe(false);
    expect(isOfAnother(ANOTHER, "win32")).toBe(false);
    expect(accessUnknown("win32")).toContain("is not checked");
  });
});
