import {
  chmodSync,
  chownSync,
  mkdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { HostPrograms } from "./host-programs.ts";
import { sortSearchPath } from "./search-path.ts";

describe("a PATH (C1)", () => {
  let base: string;
  let workspace: string;
  beforeEach(() => {
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    for (const path of [
      "workspace/tools",
      "workspace/node_modules/.bin",
      "node_modules/.bin",
      "own",
      "open/bin",
    ]) {
      mkdirSync(join(base, path), { recursive: true });
    }
  });

  it("keeps what only root and this user can change", () => {
    expect(sorted("/usr/bin", "own")).toEqual({
      trusted: ["/usr/bin", join(base, "own")],
      rest: [],
    });
  });

  it("loses relative and missing directories, and those of projects wherever they are", () => {
    const path = [
      "",
      ".",
      "bin",
      "missing",
      "workspace/node_modules/.bin",
      "node_modules/.bin",
      "/usr/bin",
    ];
    expect(sorted(...path, "node_modules/.bin/")).toEqual({
      trusted: ["/usr/bin"],
      rest: [],
    });
  });

  it("sets apart what lies in a workspace, by any name", () => {
    symlinkSync(join(workspace, "tools"), join(base, "link"));
    symlinkSync("/usr/bin", join(workspace, "system"));
    symlinkSync(workspace, join(base, "alias"));
    const path = [
      "workspace/tools",
      "workspace/tools/../tools/",
      "link",
      "workspace/system",
      "alias/tools",
      "own",
    ];
    const { trusted, ofWorkspaces } = sortSearchPath(absolute(path), [
      join(base, "alias"),
    ]);
    expect(trusted).toEqual([join(base, "own")]);
    expect(ofWorkspaces).toEqual(
      ["workspace/tools", "link", "workspace/system", "alias/tools"].map(
        (name) => join(base, name),
      ),
    );
  });

  it("keeps the real path of a link, so that nobody can point it elsewhere", () => {
    symlinkSync(join(base, "own"), join(base, "link"));
    expect(sorted("link").trusted).toEqual([join(base, "own")]);
  });

  it("loses what everybody can change, also above it, and says so", () => {
    chmodSync(join(base, "own"), 0o777);
    chmodSync(join(base, "open"), 0o777);
    expect(sorted("own", "open/bin").rest).toEqual(
      ["own", "open/bin"].map(
        (name) => `${join(base, name)}: others may change it`,
      ),
    );
    chmodSync(join(base, "own"), 0o1777);
    chmodSync(join(base, "open"), 0o1777);
    expect(sorted("own", "open/bin")).toMatchObject({
      trusted: [join(base, "open/bin")],
      rest: [expect.any(String)],
    });
  });

  it.skipIf(process.geteuid?.() !== 0)(
    "loses what belongs to another user, also above it",
    () => {
      chownSync(join(base, "own"), 65534, 65534);
      chownSync(join(base, "open"), 65534, 65534);
      expect(sorted("own", "open/bin").trusted).toEqual([]);
    },
  );

  it("is where programs are looked for, the system's first, past those that others could have put there", () => {
    for (const name of [
      "own/git",
      "own/mine",
      "workspace/tools/mine",
      "open/bin/theirs",
    ]) {
      writeFileSync(join(base, name), "", { mode: 0o755 });
    }
    symlinkSync(join(workspace, "tools/mine"), join(base, "own/linked"));
    chmodSync(join(base, "open/bin/theirs"), 0o777);
    writeFileSync(join(base, "own/text"), "", { mode: 0o644 });
    const programs = new HostPrograms(absolute(["own", "open/bin"]));
    expect(programs.find("git", [])).toBe("/usr/bin/git");
    expect(programs.find("mine", [workspace])).toBe(join(base, "own/mine"));
    expect(programs.find("mine", [base])).toBeUndefined();
    for (const name of ["linked", "theirs", "text", "missing"]) {
      expect(programs.find(name, [workspace])).toBeUndefined();
    }
    expect(() => programs.get("linked", [workspace])).toThrow(
      "linked is not installed, or only where",
    );
  });

  it("has what installs a missing program, by the system's package manager", () => {
    const remedies = (): readonly string[] => {
      const programs = new HostPrograms(join(base, "own"), []);
      return ["bash", "bwrap"].map((name) => programs.remedy(name));
    };
    expect(remedies()).toEqual(["install bash", "install bubblewrap"]);
    writeFileSync(join(base, "own/apk"), "", { mode: 0o755 });
    expect(remedies()).toEqual(["run apk add bash", "run apk add bubblewrap"]);
    expect(() =>
      new HostPrograms(join(base, "own"), []).get("bash", []),
    ).toThrow(expect.objectContaining({ remedy: "run apk add bash" }));
  });

  function absolute(path: readonly string[]): string {
    const isWritten = (name: string): boolean =>
      name.startsWith("/") || ["", ".", "bin"].includes(name);
    return path
      .map((name) => (isWritten(name) ? name : `${base}/${name}`))
      .join(":");
  }

  function sorted(...path: readonly string[]): {
    readonly trusted: readonly string[];
    readonly rest: readonly string[];
  } {
    const { trusted, ofWorkspaces, refused } = sortSearchPath(absolute(path), [
      workspace,
    ]);
    return { trusted, rest: [...ofWorkspaces, ...refused] };
  }
});
