import {
  chmodSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { chown, lchown } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { cacheDirectory } from "./cache-directory.ts";

describe("the directory for what Node compiled (H1)", () => {
  let home: string;
  let directory: string;
  beforeEach(() => {
    home = temporaryDirectory();
    directory = join(home, ".cache/devtool/compile");
  });

  it("is made below the user's caches, for nobody else", () => {
    expect(cacheDirectory("compile", { HOME: home })).toBe(directory);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(
      cacheDirectory("compile", {
        HOME: home,
        XDG_CACHE_HOME: join(home, "x"),
      }),
    ).toBe(join(home, "x/devtool/compile"));
    expect(
      cacheDirectory("compile", { HOME: home, XDG_CACHE_HOME: "relative" }),
    ).toBe(directory);
  });

  it("is none where others can write, or have been able to", () => {
    mkdirSync(directory, { recursive: true });
    for (const mode of [0o770, 0o707, 0o755]) {
      chmodSync(directory, mode);
      expect(cacheDirectory("compile", { HOME: home })).toBeUndefined();
    }
    chmodSync(directory, 0o700);
    chmodSync(join(home, ".cache"), 0o777);
    expect(cacheDirectory("compile", { HOME: home })).toBeUndefined();
  });

  it("is none through a link, without a home, and where it cannot be made", () => {
    mkdirSync(join(home, ".cache/devtool"), { recursive: true });
    mkdirSync(join(home, "elsewhere"), { mode: 0o700 });
    symlinkSync(join(home, "elsewhere"), directory);
    expect(cacheDirectory("compile", { HOME: home })).toBeUndefined();
    expect(readdirSync(join(home, "elsewhere"))).toEqual([]);
    expect(cacheDirectory("compile", {})).toBeUndefined();
    expect(cacheDirectory("compile", { HOME: "/dev/null" })).toBeUndefined();
  });

  it.skipIf(process.geteuid?.() !== 0)(
    "is none where it, or what is above it, belongs to another user",
    async () => {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      await chown(directory, 65534, 65534);
      expect(cacheDirectory("compile", { HOME: home })).toBeUndefined();
      await lchown(directory, 0, 0);
      expect(cacheDirectory("compile", { HOME: home })).toBe(directory);
      await chown(join(home, ".cache"), 65534, 65534);
      expect(cacheDirectory("compile", { HOME: home })).toBeUndefined();
    },
  );
});
