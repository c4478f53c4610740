import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Code } from "@devtool/server/agent";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { IgnoreWalk } from "../ignore-walk.ts";
import type { ToolEvent, ToolInvocation } from "../tool.ts";
import { Workspace } from "../workspace.ts";
import { globTool } from "./glob.ts";
import { listDirectoryTool } from "./list-directory.ts";
import { multiEditTool } from "./multi-edit.ts";
import { readFileTool } from "./read-file.ts";
import { readManyFilesTool } from "./read-many-files.ts";
import { replaceTool } from "./replace.ts";
import { saveMemoryTool } from "./save-memory.ts";
import { searchFileContentTool } from "./search-file-content.ts";
import { Searches } from "./searches.ts";
import { updatePlanTool } from "./update-plan.ts";
import { writeFileTool } from "./write-file.ts";

const TOOLS = [
  globTool,
  listDirectoryTool,
  multiEditTool,
  readFileTool,
  readManyFilesTool,
  replaceTool,
  saveMemoryTool,
  searchFileContentTool,
  updatePlanTool,
  writeFileTool,
];

describe("the tools for files", () => {
  const { signal } = new AbortController();
  let root: string;
  let workspace: Workspace;
  beforeEach(() => {
    root = temporaryDirectory();
    workspace = new Workspace(root);
    putFile(root, "src/a.ts", "one\ntwo\nthree\n");
    putFile(root, "src/b.md", "# two\n");
    putFile(root, "image.png", Buffer.from([0x89, 0x50, 0, 0xff]));
    symlinkSync("/etc", join(root, "link"));
  });
  afterEach(() => workspace[Symbol.dispose]());

  it("read_file reads a file or some of its lines, and rejects what it cannot read", async () => {
    expect(await text("read_file", { file_path: "src/a.ts" })).toBe(
      "one\ntwo\nthree\n",
    );
    expect(
      await text("read_file", {
        file_path: join(root, "src/a.ts"),
        offset: 1,
        limit: 1,
      }),
    ).toBe("[lines 2 to 2 of 3]\ntwo");
    await expect(text("read_file", { file_path: "image.png" })).rejects.toThrow(
      "is binary (4 bytes)",
    );
    await expect(text("read_file", { file_path: "missing" })).rejects.toThrow(
      'file "missing" does not exist',
    );
    await expect(
      text("read_file", { file_path: "link/passwd" }),
    ).rejects.toThrow("goes through a symbolic link");
    await expect(
      prepare("read_file", { file_path: "/etc/passwd" }),
    ).rejects.toThrow("is outside workspace");
    await expect(prepare("read_file", {})).rejects.toThrow(
      "file_path is missing: it must be of type string",
    );
    await expect(
      prepare("read_file", { file_path: "a", limit: "9" }),
    ).rejects.toThrow('limit "\\"9\\"" must be of type integer');
  });

  it("list_directory, glob and search_file_content find files and do not follow links", async () => {
    expect(await text("list_directory", { path: "." })).toBe(
      "image.png\nlink@\nsrc/",
    );
    expect(await text("glob", { pattern: "**/*.{ts,md}" })).toBe(
      "src/a.ts\nsrc/b.md",
    );
    expect(await text("search_file_content", { pattern: "^two|# t" })).toBe(
      "src/a.ts:2:two\nsrc/b.md:1:# two",
    );
    expect(
      await text("search_file_content", { pattern: "two", include: "*.md" }),
    ).toBe("src/b.md:1:# two");
    // A binary file has no lines, not even an empty one.
    expect(
      await text("search_file_content", { pattern: "^$", include: "*.png" }),
    ).toBe("No line matches.");
    expect(await text("glob", { pattern: "*.none" })).toBe("No file matches.");
    await expect(
      prepare("search_file_content", { pattern: "(" }),
    ).rejects.toThrow("is not a valid regular expression");
    await expect(
      prepare("search_file_content", { pattern: "(?=a)" }),
    ).rejects.toThrow("unsupported Perl syntax: `(?=`");
    await expect(
      prepare("search_file_content", { pattern: "(a{20}){20}" }),
    ).rejects.toThrow("is too large");
  });

  it("searches in linear time, where a backtracking engine would exceed the test's timeout", async () => {
    putFile(root, "evil.txt", "a".repeat(100_000));
    for (const pattern of ["^(a+)+$x", "^(a|a)*$x", "(a*)*b"]) {
      expect(await text("search_file_content", { pattern, path: "." })).toBe(
        "No line matches.",
      );
    }
  });

  it("write_file shows the change and makes it, or the user's change instead (TOOL-3, TOOL-6)", async () => {
    const invocation = await prepare("write_file", {
      file_path: "src/a.ts",
      content: "one\nTWO\nthree\n",
    });
    expect(invocation.confirmation).toMatchObject({
      case: "fileEditDetails",
      value: {
        fileName: "a.ts",
        filePath: join(root, "src/a.ts"),
        oldContent: "one\ntwo\nthree\n",
        formattedDiff: expect.stringContaining("-two\n+TWO"),
      },
    });
    const changed = invocation.withContent?.("");
    expect(changed).toMatchObject({
      args: { file_path: "src/a.ts", content: "" },
      description: "Change src/a.ts as the user edited it",
    });
    const [event] = changed ? await collect(changed, signal) : [];
    expect(event).toMatchObject({
      value: {
        value: {
          result: {
            value: {
              newContent: "",
              formattedDiff: expect.stringMatching(/^--- a\/src\/a\.ts\n/),
            },
          },
        },
      },
    });
    expect(fileText(root, "src/a.ts")).toBe("");
  });

  it("replace changes a text that occurs as often as expected, and rejects others", async () => {
    const edit = (args: JsonObject) =>
      prepare("replace", { file_path: "src/a.ts", ...args });
    await expect(edit({ old_string: "four", new_string: "x" })).rejects.toThrow(
      "occurs 0 times",
    );
    await expect(edit({ old_string: "o", new_string: "x" })).rejects.toThrow(
      "occurs 2 times",
    );
    await expect(edit({ old_string: "", new_string: "x" })).rejects.toThrow(
      "is empty",
    );
    await collect(
      await edit({
        old_string: "o",
        new_string: "0$&",
        expected_replacements: 2,
      }),
      signal,
    );
    expect(fileText(root, "src/a.ts")).toBe("0$&ne\ntw0$&\nthree\n");
  });

  it("an edit fails if the file has changed since the user saw it", async () => {
    const invocation = await prepare("write_file", {
      file_path: "src/a.ts",
      content: "x",
    });
    putFile(root, "src/a.ts", "changed meanwhile");
    expect(await collect(invocation, signal)).toMatchObject([
      {
        value: {
          case: "error",
          value: {
            message: expect.stringContaining("changed since it was shown"),
          },
        },
      },
    ]);
    expect(fileText(root, "src/a.ts")).toBe("changed meanwhile");
  });

  it("an edit that was already made succeeds and is not made again", async () => {
    const args = {
      file_path: "src/a.ts",
      old_string: "one",
      new_string: "one one",
    };
    const invocation = await prepare("replace", args);
    await collect(invocation, signal);
    expect(await collect(invocation, signal)).toMatchObject([
      { value: { case: "output" } },
    ]);
    expect(fileText(root, "src/a.ts")).toBe("one one\ntwo\nthree\n");
  });

  it("multi_edit makes all of its edits in order, or none", async () => {
    const edit = (...edits: JsonObject[]) =>
      prepare("multi_edit", { file_path: "src/a.ts", edits });
    const [one, all] = [
      { old_string: "one", new_string: "two" },
      { old_string: "two", new_string: "2", replace_all: true },
    ];
    await expect(
      edit(one, { old_string: "two", new_string: "2" }),
    ).rejects.toThrow("occurs 2 times");
    await expect(
      edit(one, { old_string: "none", new_string: "" }),
    ).rejects.toThrow("so no edit was made");
    await expect(edit()).rejects.toThrow("edits is empty");
    await expect(edit({ old_string: "one" })).rejects.toThrow(
      "new_string is missing",
    );
    await collect(await edit(one, all), signal);
    expect(fileText(root, "src/a.ts")).toBe("2\n2\nthree\n");
  });

  it("edits keep the mode, line endings, byte order mark and a missing final newline, and leave no temporary file", async () => {
    const path = join(root, "run.cmd");
    writeFileSync(path, "\u{feff}one\r\ntwo");
    chmodSync(path, 0o777);
    await collect(
      await prepare("replace", {
        file_path: "run.cmd",
        old_string: "e\nt",
        new_string: "e\nx\nt",
      }),
      signal,
    );
    expect(readFileSync(path, "utf8")).toBe("\u{feff}one\r\nx\r\ntwo");
    await collect(
      await prepare("write_file", { file_path: "run.cmd", content: "a\nb" }),
      signal,
    );
    expect(readFileSync(path, "utf8")).toBe("\u{feff}a\r\nb");
    expect(statSync(path).mode & 0o777).toBe(0o777);
    expect(readdirSync(root).sort()).toEqual([
      "image.png",
      "link",
      "run.cmd",
      "src",
    ]);
  });

  it("edits only text, up to the size that can be read", async () => {
    const write = (args: JsonObject) => prepare("write_file", args);
    await expect(
      write({ file_path: "image.png", content: "x" }),
    ).rejects.toThrow("only UTF-8 text can be edited");
    const large = "x".repeat(11 * 1024 * 1024);
    await expect(write({ file_path: "large", content: large })).rejects.toThrow(
      "limit is 10485760",
    );
  });

  it("shows a change of thousands of lines as one replacement, the same each time", async () => {
    const lines = (mark: string) =>
      Array.from({ length: 9000 }, (_line, index) => `${mark}${index}\n`).join(
        "",
      );
    putFile(root, "many", lines("a"));
    const args = { file_path: "many", content: lines("b") };
    const [one, other] = [
      await prepare("write_file", args),
      await prepare("write_file", args),
    ];
    expect(one.confirmation).toEqual(other.confirmation);
    expect(one.confirmation).toMatchObject({
      value: {
        formattedDiff: expect.stringContaining("@@ -1,9000 +1,9000 @@\n-a0\n"),
      },
    });
  });

  it("read_file describes an image, and reads lines of files of any size", async () => {
    const png = Buffer.alloc(64);
    png.write("\x89PNG\r\n\x1a\n", "latin1");
    png.writeUInt32BE(640, 16);
    png.writeUInt32BE(480, 20);
    putFile(root, "real.png", png);
    expect(await text("read_file", { file_path: "real.png" })).toContain(
      "PNG image, 640×480 pixels, 64 bytes",
    );
    putFile(root, "huge", "0123456789\n".repeat(2_000_000));
    expect(
      await text("read_file", {
        file_path: "huge",
        offset: 1_999_998,
        limit: 2,
      }),
    ).toBe("[lines 1999999 to 2000000 of 2000000]\n0123456789\n0123456789\n");
    const cut = await text("read_file", {
      file_path: "huge",
      limit: 1_000_000,
    });
    expect(cut).toMatch(
      /^\[lines 1 to 23831 of 2000000, cut after 262141 bytes: read on with offset 23831\]\n0/,
    );
    putFile(root, "long", "x".repeat(5000));
    expect(await text("read_file", { file_path: "long" })).toMatch(
      /x\[… 3000 more characters in this line\]$/,
    );
  });

  it("B24: replace finds a text in a file with both kinds of line ends, and writes those of the place", async () => {
    const edit = async (
      content: string,
      old_string: string,
      new_string: string,
    ): Promise<string> => {
      putFile(root, "f", content);
      const args = { file_path: "f", old_string, new_string };
      await collect(await prepare("replace", args), signal);
      return fileText(root, "f");
    };
    const mixed = "one\r\ntwo\nthree\r\n";
    expect(await edit(mixed, "one\ntwo", "1\n2")).toBe("1\r\n2\nthree\r\n");
    expect(await edit(mixed, "two\r\nthree", "$&\n3")).toBe("one\r\n$&\n3\r\n");
    expect(await edit(mixed, "e\ntwo\nthree\n", "(a)\n")).toBe("on(a)\r\n");
    // One line becomes two, and two become one, in a file of CRLF alone.
    expect(await edit("a\r\nb\r\n", "b", "b\nc")).toBe("a\r\nb\r\nc\r\n");
    expect(await edit("a\r\nb\r\n", "a\n", "a")).toBe("ab\r\n");
  });

  it.each([
    [
      "replace",
      { file_path: "src/a.ts", old_string: "one", new_string: "one" },
      "is the same as old_string",
    ],
    [
      "multi_edit",
      {
        file_path: "src/a.ts",
        edits: [
          { old_string: "one", new_string: "1" },
          { old_string: "1", new_string: "one" },
        ],
      },
      "leave the file as it is",
    ],
    ["write_file", { file_path: "n", content: "a\0b" }, "would have a NUL"],
    ["write_file", { file_path: "n", content: "\ud83d" }, "half a character"],
    [
      "replace",
      { file_path: "src/a.ts", old_string: "one", new_string: "\0" },
      "would have a NUL",
    ],
    [
      "replace",
      { file_path: "emoji", old_string: "\ud83d", new_string: "x" },
      "half a character",
    ],
    [
      "write_file",
      { file_path: "d/", content: "x" },
      'file_path "d/" names a directory',
    ],
    ["write_file", { file_path: "d/.", content: "x" }, "names a directory"],
    ["write_file", { file_path: "d/x/..", content: "x" }, "names a directory"],
    [
      "replace",
      { file_path: "src/a.ts/", old_string: "one", new_string: "1" },
      "names a directory",
    ],
  ])(
    "B28: %s of %j is refused and writes nothing",
    async (name, args, problem) => {
      putFile(root, "emoji", "😀");
      await expect(prepare(name, args)).rejects.toMatchObject({
        code: Code.InvalidArgument,
        message: expect.stringContaining(problem),
      });
      expect(readdirSync(root).toSorted()).toEqual([
        "emoji",
        "image.png",
        "link",
        "src",
      ]);
    },
  );

  const PAGE = "src/app/[locale]/(auth)/page.tsx";

  it.each([
    ["read_many_files", { paths: [PAGE] }],
    ["read_many_files", { paths: [`./${PAGE}`] }],
    ["read_many_files", { paths: ["src/app/[locale]/**"] }],
    ["read_many_files", { paths: ["src/app/[locale]"] }],
    ["read_many_files", { paths: ["src/app/**/[post-id]/*.tsx"] }],
    ["glob", { pattern: PAGE }],
    ["glob", { pattern: "src/app/[locale]/**/*.tsx" }],
    ["glob", { pattern: "[locale]/(auth)/*.tsx", path: "src/app" }],
    ["glob", { pattern: "**/[locale]/**/page.tsx" }],
    ["glob", { pattern: "src/app/[[]locale[]]/**" }],
    ["search_file_content", { pattern: "x", include: PAGE }],
    ["search_file_content", { pattern: "x", include: "src/app/[locale]/**" }],
    ["search_file_content", { pattern: "x", path: "src/app/[locale]" }],
  ])(
    "B8: %s takes %j as a path first and as a pattern second",
    async (name, args) => {
      for (const path of [PAGE, "src/app/[locale]/[post-id]/page.tsx"]) {
        mkdirSync(join(root, dirname(path)), { recursive: true });
        putFile(root, path, "x\n");
      }
      expect(await text(name, args)).toMatch(/\[locale\].*page\.tsx/);
    },
  );

  it("B8: a name with the characters of a pattern is that file alone, and each path without a file is named", async () => {
    const names = ["[ab].txt", "{{name}}.txt", "what?.txt"];
    for (const name of [...names, "a.txt", "whats.txt", "*.txt"]) {
      putFile(root, name, `${name}\n`);
    }
    expect(await text("read_many_files", { paths: names })).toBe(
      names.map((name) => `--- ${name} ---\n${name}\n`).join("\n"),
    );
    for (const pattern of names) {
      expect(await text("glob", { pattern })).toBe(pattern);
    }
    expect(await text("glob", { pattern: "[a].txt" })).toBe("a.txt");
    // No name hides the other files from a pattern.
    expect((await text("glob", { pattern: "*.txt" })).split("\n")).toHaveLength(
      6,
    );
    expect(
      await text("read_many_files", {
        paths: ["a.txt", "no/*.ts", "[z].txt", "none"],
      }),
    ).toBe(
      '--- a.txt ---\na.txt\n\n--- none ---\n[not read: file "none" does not exist]\n[no file to show for "no/*.ts"]\n[no file to show for "[z].txt"]',
    );
    expect(await text("read_many_files", { paths: ["*.none"] })).toBe(
      'No file matches.\n[no file to show for "*.none"]',
    );
    // A file that an earlier call of the same step makes is there by then.
    const later = await prepare("read_many_files", { paths: ["[new].md"] });
    putFile(root, "[new].md", "new\n");
    expect(await outcome(later)).toBe("--- [new].md ---\nnew\n");
  });

  it("B25: search_file_content finds the end of a line that ends with CRLF", async () => {
    putFile(root, "crlf.txt", "ab\r\nb a\r\n");
    const args = { pattern: "b$", include: "crlf.txt" };
    expect(await text("search_file_content", args)).toBe("crlf.txt:1:ab");
  });

  it.each(["", "pkg", "pkg/app"])(
    "B21: leaves out what git does in %j below the root of a repository",
    async (below) => {
      const git = (args: readonly string[], cwd = root): string =>
        execFileSync("git", ["-c", "core.excludesFile=", ...args], {
          cwd,
          encoding: "utf8",
        });
      const put = (path: string, content = "x\n"): void => {
        mkdirSync(dirname(join(root, path)), { recursive: true });
        putFile(root, path, content);
      };
      git(["init", "-q"]);
      put("pkg/app/build/tracked.js");
      put("pkg/app/kept.log");
      git(["add", "."]);
      put(
        ".gitignore",
        "*.secret\n*.log\nbuild/\n/pkg/app/out/\n/out2/\n!keep.secret\n",
      );
      put("pkg/.gitignore", "/app/local.txt\n!app/shown.log\n");
      put("pkg/app/.gitignore", "mine/\n");
      put(".git/info/exclude", "excluded.*\n/pkg/app/x.md\n!y.secret\n");
      for (const path of [
        ...[
          "a.secret",
          "keep.secret",
          "y.secret",
          "b.log",
          "shown.log",
          "x.md",
        ],
        ...["build/new.js", "deep/build/new.js", "out/o.js", "out2/o.js"],
        ...["local.txt", "mine/m.txt", "excluded.txt", "plain.ts"],
      ]) {
        for (const directory of ["", "pkg/", "pkg/app/"]) put(directory + path);
      }
      const place = join(root, below);
      using inside = new Workspace(place);
      const glob = await globTool(inside).prepare({ pattern: "**" }, signal);
      const shown = (await outcome(glob)).split("\n");
      const listed = git(["ls-files", "-co", "--exclude-standard"], place);
      const regular = listed
        .split("\n")
        .filter((path) => path !== "" && path !== "link");
      expect(shown).toEqual(regular.toSorted());
      // What is tracked stays hidden where .devtoolignore says so.
      put("pkg/app/.devtoolignore", "build/\n*.log\n");
      const again = await globTool(inside).prepare({ pattern: "**" }, signal);
      expect(await outcome(again)).not.toMatch(/app\/build|kept\.log|^build/m);
    },
  );

  it("B21: a workspace that its repository ignores shows its files", async () => {
    execFileSync("git", ["init", "-q"], { cwd: root });
    putFile(root, ".gitignore", "*\n");
    using inside = new Workspace(join(root, "src"));
    const glob = await globTool(inside).prepare({ pattern: "**" }, signal);
    expect(await outcome(glob)).toBe("a.ts\nb.md");
  });

  it("B28: a name with a line break stays on its line, and its file can be read", async () => {
    const name = 'src/two\n+++ b x\u2028"';
    const quoted = '"src/two\\n+++ b x\\u2028\\""';
    putFile(root, name, "two\n");
    putFile(root, 'src/"quoted', "2\n");
    expect(await text("list_directory", { path: "src" })).toBe(
      ['"\\"quoted"', "a.ts", "b.md", quoted.replace("src/", "")].join("\n"),
    );
    expect(await text("glob", { pattern: "src/t*" })).toBe(quoted);
    expect(await text("search_file_content", { pattern: "^two$" })).toBe(
      `src/a.ts:2:two\n${quoted}:1:two`,
    );
    expect(await text("read_many_files", { paths: [JSON.parse(quoted)] })).toBe(
      `--- ${quoted} ---\ntwo\n`,
    );
    // Nor do the headers of a diff break, also where it is not minimal.
    for (const lines of [1, 5000]) {
      putFile(root, name, "two\n".repeat(lines));
      const args = { file_path: name, content: "2\n".repeat(lines) };
      const { confirmation } = await prepare("write_file", args);
      if (confirmation?.case !== "fileEditDetails") throw new Error("no diff");
      const { formattedDiff = "" } = confirmation.value;
      const [from, to, hunk] = formattedDiff.split("\n");
      expect([from, to]).toEqual([
        expect.stringMatching(/^--- "a\/src\/two\\n\+{3} b x.*"$/),
        expect.stringMatching(/^\+{3} "b\/src\/two\\n\+{3} b x.*"$/),
      ]);
      expect(hunk).toBe(`@@ -1,${lines} +1,${lines} @@`);
    }
  });

  it("B9, B23: read_file counts lines and goes on behind a line of any length", async () => {
    const read = (offset: number, limit = 2000) =>
      text("read_file", { file_path: "f", offset, limit });
    const cut = (surplus: number): string =>
      `${"a".repeat(2000)}[… ${surplus} more characters in this line]`;
    putFile(root, "f", `${"a".repeat(3_000_000)}\nlast\n`);
    expect(await read(0)).toBe(`${cut(2_998_000)}\nlast\n`);
    expect(await read(1)).toBe("[lines 2 to 2 of 2]\nlast\n");
    expect(await read(2)).toBe("[the file has 2 lines: none at offset 2]");
    putFile(root, "f", "one");
    expect(await read(100)).toBe("[the file has 1 line: none at offset 100]");
    putFile(root, "f", "");
    expect(await read(0)).toBe("");
    expect(await read(1)).toBe("[the file has 0 lines: none at offset 1]");
    // A character is whole or left out, and counts once.
    putFile(root, "f", `a${"😀".repeat(2000)}`);
    expect(await read(0)).toBe(
      `a${"😀".repeat(1999)}[… 1 more characters in this line]`,
    );
    // Following the offsets leads through the whole file.
    const lines = Array.from({ length: 300 }, (_, index) =>
      `${index} `.padEnd(index % 7 === 0 ? 1 : 3000, "é"),
    );
    putFile(root, "f", lines.join("\n"));
    const seen: string[] = [];
    for (let offset = 0; offset < lines.length; ) {
      const page = await read(offset);
      const [, next] = /read on with offset (\d+)\]/.exec(page) ?? [];
      const shown = page.split("\n").slice(page.startsWith("[") ? 1 : 0);
      expect(next === undefined || Number(next) > offset).toBe(true);
      seen.push(...shown.map((line) => line.split(" ", 1)[0] ?? ""));
      offset = next === undefined ? lines.length : Number(next);
    }
    expect(seen).toEqual(lines.map((_line, index) => String(index)));
    const many = await text("read_many_files", { paths: ["f", "src/a.ts"] });
    expect(many).toContain("read on with offset");
    expect(many).toContain("one\ntwo\nthree\n");
  });

  it("listings and searches leave out ignored files at each level, unless include_ignored is set", async () => {
    mkdirSync(join(root, "out/deep"), { recursive: true });
    mkdirSync(join(root, "node_modules"));
    mkdirSync(join(root, ".git"));
    for (const path of [
      "out/deep/two.ts",
      "node_modules/two.ts",
      ".git/two.ts",
      "src/two.log",
      "src/keep.log",
      "two.key",
    ]) {
      putFile(root, path, "two\n");
    }
    putFile(root, ".gitignore", "out/\n*.log\n");
    putFile(root, "src/.gitignore", "!keep.log\n");
    putFile(root, ".devtoolignore", "*.key\n");
    expect(await text("glob", { pattern: "**/*two*" })).toContain(
      "No file matches.\n[4 ignored entries left out",
    );
    expect(
      await text("glob", { pattern: "**/*two*", include_ignored: true }),
    ).toBe("node_modules/two.ts\nout/deep/two.ts\nsrc/two.log\ntwo.key");
    expect(await text("glob", { pattern: "*", path: "out/deep" })).toBe(
      "out/deep/two.ts",
    );
    expect(await text("search_file_content", { pattern: "^two" })).toBe(
      "src/a.ts:2:two\nsrc/keep.log:1:two",
    );
    expect(await text("list_directory", { path: "src" })).toBe(
      ".gitignore\na.ts\nb.md\nkeep.log\n[1 ignored entry left out: include_ignored shows them]",
    );
    expect(
      await text("list_directory", { path: "src", include_ignored: true }),
    ).toContain("two.log");
  });

  it("searches accept a file in place of a directory and absolute patterns, and report that nothing matches", async () => {
    expect(
      await text("search_file_content", { pattern: "two", path: "src/a.ts" }),
    ).toBe("src/a.ts:2:two");
    expect(await text("glob", { pattern: join(root, "src/*.md") })).toBe(
      "src/b.md",
    );
    expect(
      await text("read_many_files", { paths: [join(root, "src/*.md")] }),
    ).toBe("--- src/b.md ---\n# two\n");
    await expect(
      text("glob", { pattern: "*", path: "missing" }),
    ).rejects.toThrow('path "missing" does not exist');
    await expect(text("read_file", { file_path: "src" })).rejects.toThrow(
      'path "src" is a directory: name a file in it',
    );
  });

  it("is not slowed down by ignore rules that backtrack exponentially", async () => {
    putFile(root, ".gitignore", `${"a*".repeat(60)}b\nsrc/\n`);
    putFile(root, "a".repeat(250), "");
    expect(await text("glob", { pattern: "**" })).toBe(
      `.gitignore\n${"a".repeat(250)}\nimage.png`,
    );
  });

  it("is not slowed down by ignore rules that try every way through a deep path", async () => {
    const rules = Array.from(
      { length: 300 },
      (_, index) => `**/a*/**/a*/**/a*/b${index}`,
    );
    putFile(root, ".gitignore", `${rules.join("\n")}\nimage.png\n`);
    const path = Array.from({ length: 450 }, () => "aaa").join("/");
    mkdirSync(join(root, path), { recursive: true });
    // Between two turns of the event loop, in microseconds of the processor:
    // waiting for a busy machine is no stall.
    let longest = 0;
    let before = process.cpuUsage();
    const note = (): void => {
      const { user, system } = process.cpuUsage(before);
      longest = Math.max(longest, user + system);
      before = process.cpuUsage();
    };
    const timer = setInterval(note, 10);
    expect(await text("list_directory", { path })).toBe(
      "The directory is empty.",
    );
    expect(await text("glob", { pattern: "*.png" })).toContain(
      "No file matches.",
    );
    clearInterval(timer);
    note();
    expect(longest / 1e6).toBeLessThan(5);
  });

  it("reports that it took too long, wherever the time was spent", async () => {
    const searches = new Searches(1);
    const endless = (signal: AbortSignal): Promise<never> =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason)),
      );
    await expect(searches.run(endless, signal)).rejects.toMatchObject({
      message: expect.stringContaining("the search took longer than"),
      code: Code.DeadlineExceeded,
    });
    makeThousands();
    let nowMs = 0;
    // The clock jumps ahead with each step, so that the search yields and the
    // timeout can fire.
    const clock = vi
      .spyOn(performance, "now")
      .mockImplementation(() => (nowMs += 10));
    const calls: readonly [string, JsonObject][] = [
      ["glob", { pattern: "**/*.txt" }],
      ["search_file_content", { pattern: "x" }],
      ["read_many_files", { paths: ["."] }],
    ];
    for (const [name, args] of calls) {
      const tool = TOOLS.map((make) => make(workspace, { searches })).find(
        ({ declaration }) => declaration.name === name,
      );
      const invocation = await tool?.prepare(args, signal);
      if (!invocation) throw new Error(`there is no ${name}`);
      await expect(collect(invocation, signal), name).rejects.toThrow(
        "took longer than",
      );
    }
    clock.mockRestore();
  });

  it("limits the number of concurrent searches", async () => {
    const searches = new Searches();
    const turn = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const all = Array.from({ length: 100 }, () =>
      searches.run(async () => {
        most = Math.max(most, ++running);
        await turn.promise;
        running--;
      }, signal),
    );
    await nextTurn();
    turn.resolve();
    await Promise.all(all);
    expect(most).toBe(4);
  });

  it("matches globs in linear time, where a backtracking engine would exceed the test's timeout", async () => {
    putFile(root, "a".repeat(250), "");
    expect(await text("glob", { pattern: `${"a*".repeat(40)}b` })).toBe(
      "No file matches.",
    );
  });

  it("yields to the event loop while it walks thousands of files", async () => {
    makeThousands();
    let nowMs = 0;
    // The clock jumps ahead with each step, regardless of the speed of the
    // machine.
    const clock = vi
      .spyOn(performance, "now")
      .mockImplementation(() => (nowMs += 10));
    let turns = 0;
    let walking = true;
    const others = (async () => {
      for (; walking; turns++) await nextTurn();
    })();
    const walk = new IgnoreWalk({ workspace, path: "", ignored: "skip" });
    await Array.fromAsync(walk.directories(signal));
    walking = false;
    clock.mockRestore();
    await others;
    expect(turns).toBeGreaterThan(1000);
  });

  it("stops a search in thousands of files when the signal aborts", async () => {
    makeThousands();
    const abort = new AbortController();
    const search = collect(
      await prepare("search_file_content", { pattern: "x" }),
      abort.signal,
    );
    abort.abort();
    await expect(search).rejects.toThrow();
  });

  function makeThousands(): void {
    for (let index = 0; index < 30; index++) {
      mkdirSync(join(root, `d${index}`));
      for (let file = 0; file < 100; file++) {
        putFile(root, `d${index}/${file}.txt`, "");
      }
    }
  }

  it("read_many_files reports internal errors of several files to the operator once", async () => {
    class BrokenWorkspace extends Workspace {
      override openFile(): never {
        throw Object.assign(new Error("secret"), { code: "EIO" });
      }
    }
    using broken = new BrokenWorkspace(root);
    const notices: string[] = [];
    const reading = readManyFilesTool(broken, {
      onNotice: (text) => notices.push(text),
    });
    const events = await collect(
      await reading.prepare({ paths: ["src"] }, signal),
      signal,
    );
    expect(
      JSON.stringify(events).match(/not read: internal error/g),
    ).toHaveLength(2);
    expect(notices).toEqual([
      expect.stringMatching(
        /^reading a file failed inside the server: .*"error":"Error","code":"EIO","at":/,
      ),
    ]);
    expect(notices.join()).not.toContain("secret");
  });

  it("read_many_files reads paths, directories and patterns, each file once, and reports what it could not read", async () => {
    const paths = ["src", "src/*.md", "image.png", "missing"];
    expect(await text("read_many_files", { paths })).toBe(
      [
        "--- src/a.ts ---\none\ntwo\nthree\n",
        "--- src/b.md ---\n# two\n",
        '--- image.png ---\n[not read: file "image.png" is binary (4 bytes): it has no text; run_shell_command can use a program that reads it]',
        '--- missing ---\n[not read: file "missing" does not exist]',
      ].join("\n"),
    );
    for (let index = 0; index < 9; index++) {
      putFile(
        root,
        `big${index}`,
        `${"0123456789".repeat(6)}\n`.repeat(10_000),
      );
    }
    const much = await text("read_many_files", { paths: ["big*"] });
    expect(much.length).toBeLessThan(300_000);
    expect(much.slice(-80)).toContain("more files did not fit");
    await expect(
      prepare("read_many_files", { paths: ["../x"] }),
    ).rejects.toThrow("is outside workspace");
    await expect(prepare("read_many_files", { paths: [1] })).rejects.toThrow(
      'paths[0] "1" must be of type string',
    );
  });

  it("save_memory adds a fact to the existing memory file, as an edit that needs approval", async () => {
    const save = async (fact: string) =>
      collect(await prepare("save_memory", { fact }), signal);
    expect(
      (await prepare("save_memory", { fact: "x" })).confirmation?.case,
    ).toBe("fileEditDetails");
    await save("- Tests run\nwith vitest. ");
    expect(fileText(root, "AGENTS.md")).toBe(
      "## Added memories\n\n- Tests run with vitest.\n",
    );
    putFile(
      root,
      "AGENTS.md",
      "# Rules\n\n## Added memories\n\n- One\n\n## Other\n\ntext\n",
    );
    await save("Two");
    expect(fileText(root, "AGENTS.md")).toBe(
      "# Rules\n\n## Added memories\n\n- One\n- Two\n\n## Other\n\ntext\n",
    );
    rmSync(join(root, "AGENTS.md"));
    putFile(root, "GEMINI.md", "# Rules");
    await save("Three");
    expect(fileText(root, "GEMINI.md")).toBe(
      "# Rules\n\n## Added memories\n\n- Three\n",
    );
    await expect(save(" ")).rejects.toThrow("fact is empty");
  });

  it("update_plan shows the plan without approval", async () => {
    const plan = [
      { step: "read", status: "completed" },
      { step: "write", status: "in_progress" },
    ];
    const invocation = await prepare("update_plan", { plan });
    expect(invocation.confirmation).toBeUndefined();
    expect(invocation.description).toBe("Plan: 1 of 2 steps done");
    expect(await collect(invocation, signal)).toMatchObject([
      {
        value: {
          value: {
            result: {
              case: "structuredData",
              value: { explanation: "", plan },
            },
          },
        },
      },
    ]);
    await expect(
      prepare("update_plan", { plan: [{ step: "x", status: "soon" }] }),
    ).rejects.toThrow("is not one of the choices: choose pending");
    await expect(prepare("update_plan", { plan: [] })).rejects.toThrow(
      "has 0 steps",
    );
  });

  async function prepare(
    name: string,
    args: JsonObject,
  ): Promise<ToolInvocation> {
    // A busy machine takes longer than a search may.
    const searches = new Searches(120_000);
    const tool = TOOLS.map((create) => create(workspace, { searches })).find(
      ({ declaration }) => declaration.name === name,
    );
    if (!tool) throw new Error(`no tool ${name}`);
    return tool.prepare(args, signal);
  }

  async function text(name: string, args: JsonObject): Promise<string> {
    return outcome(await prepare(name, args));
  }

  async function outcome(invocation: ToolInvocation): Promise<string> {
    const [event] = await collect(invocation, signal);
    const result =
      event?.case === "result" && event.value.case === "output"
        ? event.value.value.result
        : undefined;
    return result?.case === "text" ? result.value : "";
  }
});

async function collect(
  invocation: ToolInvocation,
  signal: AbortSignal,
): Promise<ToolEvent[]> {
  const events: ToolEvent[] = [];
  for await (const event of invocation.execute(signal)) events.push(event);
  return events;
}
