import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeFileTool } from "../builtin/write-file.ts";
import { Workspace } from "../workspace.ts";
import { checkpointedTool } from "./checkpointed-tool.ts";
import { Checkpoints } from "./checkpoints.ts";

const searchPath = process.env.PATH ?? "";

describe("Checkpoints", () => {
  const signal = AbortSignal.timeout(60_000);
  let base: string;
  let root: string;
  let dataDirectory: string;
  let notices: string[];
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "devtool-checkpoints-")));
    root = join(base, "workspace");
    dataDirectory = join(base, "data");
    notices = [];
    for (const directory of [root, join(root, "src"), dataDirectory]) mkdirSync(directory);
    write("src/a.txt", "one\r\n");
    write("run.sh", "#!/bin/sh\n");
    chmodSync(join(root, "run.sh"), 0o755);
  });
  afterEach(() => rmSync(base, { recursive: true }));

  it("brings changed, deleted and new files back to where they were, also after a restart", async () => {
    const before = state();
    const id = await open().snapshot(root, "Change src/a.txt", signal);
    write("src/a.txt", "two");
    rmSync(join(root, "run.sh"));
    write('src/new "quoted"\n.txt', "new");
    const lines = await open().restore(root, id ?? "", signal);
    expect(state()).toEqual(before);
    expect(lines.toSorted()).toEqual(["run.sh", "src/a.txt", 'src/new "quoted"\n.txt (removed)']);
    expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o755);
  });

  it("lists checkpoints with time and label, the latest first, and makes none when nothing changed", async () => {
    const checkpoints = open();
    expect(await checkpoints.list(root, signal)).toEqual([]);
    expect(await checkpoints.snapshot(root, "one", signal)).toBe("1");
    expect(await checkpoints.snapshot(root, "nothing changed", signal)).toBe("1");
    write("src/a.txt", "two\r\n");
    expect(await checkpoints.snapshot(root, 'second "quoted"\nline', signal)).toBe("2");
    const time = new Date("2026-01-02T03:04:05Z");
    const second = { id: "2", label: 'second "quoted"\nline', time };
    expect(await open().list(root, signal)).toEqual([second, { id: "1", label: "one", time }]);
    expect(await open().list(join(base, "other"), signal)).toEqual([]);
  });

  it("can undo a restore", async () => {
    const checkpoints = open({ now: () => new Date() });
    const first = await checkpoints.snapshot(root, "one", signal);
    write("src/a.txt", "precious");
    write("src/b.txt", "new");
    const later = state();
    await checkpoints.restore(root, first ?? "", signal);
    expect(state()).not.toEqual(later);
    const [undo] = await checkpoints.list(root, signal);
    expect(undo?.label).toBe("restore checkpoint 1");
    await checkpoints.restore(root, undo?.id ?? "", signal);
    expect(state()).toEqual(later);
  });

  it("leaves alone what is ignored, very large, a link, or older than the checkpoint", async () => {
    write(".gitignore", "*.log\n");
    write("secret.log", "kept out");
    write("large", "x".repeat(11 * 1024 * 1024));
    symlinkSync("/etc/passwd", join(root, "link"));
    const checkpoints = open({ now: () => new Date() });
    const id = await checkpoints.snapshot(root, "one", signal);
    write(".gitignore", "# nothing\n");
    write("large", "small now");
    write("src/a.txt", "two");
    const lines = await open({ now: () => new Date() }).restore(root, id ?? "", signal);
    expect(lines.toSorted()).toEqual([
      ".gitignore",
      "large (left as it is: it is older than the checkpoint)",
      "secret.log (left as it is: it is older than the checkpoint)",
      "src/a.txt",
    ]);
    expect(readFileSync(join(root, "secret.log"), "utf8")).toBe("kept out");
    expect(readFileSync(join(root, "large"), "utf8")).toBe("small now");
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("one\r\n");
    expect(existsSync(join(root, "link"))).toBe(true);
  });

  it("replaces nothing that it could not bring back, and writes through no link", async () => {
    const outside = join(base, "outside");
    writeFileSync(outside, "outside");
    const checkpoints = open();
    const id = await checkpoints.snapshot(root, "one", signal);
    write("src/a.txt", "x".repeat(11 * 1024 * 1024));
    rmSync(join(root, "run.sh"));
    symlinkSync(outside, join(root, "run.sh"));
    const lines = await checkpoints.restore(root, id ?? "", signal);
    expect(lines.toSorted()).toEqual([
      expect.stringMatching(/^run.sh \(left as it is: .*symbolic link/),
      "src/a.txt (left as it is: it is ignored or too large now: move it away)",
    ]);
    expect(readFileSync(outside, "utf8")).toBe("outside");
  });

  it("runs nothing and reads no configuration that a workspace brings", async () => {
    const spy = join(base, "spy");
    const command = `touch ${spy}`;
    execFileSync("git", ["init", "--quiet", root]);
    execFileSync("git", ["init", "--quiet", join(root, "nested")]);
    const config = `[core]\n fsmonitor = ${command}\n hooksPath = ${root}/hooks\n[filter "evil"]\n clean = ${command}\n smudge = ${command}\n`;
    for (const path of [".git/config", "nested/.git/config"]) write(path, config);
    mkdirSync(join(root, "hooks"));
    for (const hook of ["reference-transaction", "post-commit", "post-index-change"]) {
      write(`hooks/${hook}`, `#!/bin/sh\n${command}\n`);
      chmodSync(join(root, "hooks", hook), 0o755);
    }
    write(".gitattributes", "* filter=evil text eol=crlf ident working-tree-encoding=UTF-16\n");
    write("nested/b.txt", "$Id$\none\n");
    const checkpoints = open();
    const id = await checkpoints.snapshot(root, "one", signal);
    write("nested/b.txt", "two");
    await checkpoints.restore(root, id ?? "", signal);
    expect(readFileSync(join(root, "nested/b.txt"), "utf8")).toBe("$Id$\none\n");
    expect(existsSync(spy)).toBe(false);
    spawnSync("git", ["-C", root, "add", "--all"]);
    expect(existsSync(spy), "would be seen, if git looked at the workspace (sabotage)").toBe(true);
  });

  it("goes on after a crash in the middle of one", async () => {
    const id = await open().snapshot(root, "one", signal);
    const locks = execFileSync("git", ["for-each-ref", "--format=%(refname)"], {
      cwd: join(dataDirectory, "checkpoints.git"),
    });
    const ref = locks.toString().trim().replace(/1$/, "2");
    writeFileSync(join(dataDirectory, "checkpoints.git", `${ref}.lock`), "");
    write("src/a.txt", "two");
    expect(await open().snapshot(root, "two", signal)).toBe("2");
    await open().restore(root, id ?? "", signal);
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("one\r\n");
    expect(notices).toEqual([]);
  });

  it("says once that there is no git, and the work goes on", async () => {
    const checkpoints = open({ searchPath: join(base, "nothing") });
    expect(await checkpoints.snapshot(root, "one", signal)).toBeUndefined();
    expect(await checkpoints.snapshot(root, "two", signal)).toBeUndefined();
    expect(await checkpoints.list(root, signal)).toEqual([]);
    expect(notices).toEqual([
      "no checkpoint was made: git is not installed: install it to be able to go back to checkpoints",
    ]);
    await expect(checkpoints.restore(root, "1", signal)).rejects.toThrow("git is not installed");
  });

  it("knows only the checkpoints of a workspace, and does one thing at a time", async () => {
    const checkpoints = open();
    await expect(checkpoints.restore(root, "7", signal)).rejects.toThrow(
      'checkpoint "7" does not exist: /restore list',
    );
    const other = join(base, "other");
    mkdirSync(other);
    const both = [checkpoints.snapshot(root, "one", signal), checkpoints.snapshot(other, "one", signal)];
    expect(await Promise.all(both)).toEqual(["1", "1"]);
    expect(await checkpoints.restore(other, "1", signal)).toEqual([]);
    expect(readdirSync(other)).toEqual([]);
  });

  it("does not keep the data directory, where that lies in the workspace", async () => {
    dataDirectory = join(root, "data");
    mkdirSync(dataDirectory);
    writeFileSync(join(dataDirectory, "tasks.db"), "one");
    const checkpoints = open();
    await checkpoints.snapshot(root, "one", signal);
    writeFileSync(join(dataDirectory, "tasks.db"), "two");
    expect(await checkpoints.snapshot(root, "two", signal)).toBe("1");
    expect(await checkpoints.restore(root, "1", signal)).toEqual([]);
    expect(readFileSync(join(dataDirectory, "tasks.db"), "utf8")).toBe("two");
  });

  it("keeps the newest hundred", { timeout: 60_000 }, async () => {
    const checkpoints = open();
    for (let index = 1; index <= 200; index++) {
      write("src/a.txt", `${index}`);
      await checkpoints.snapshot(root, `${index}`, signal);
    }
    const kept = await checkpoints.list(root, signal);
    expect([kept.length, kept[0]?.id, kept.at(-1)?.id]).toEqual([100, "200", "101"]);
    await checkpoints.restore(root, "101", signal);
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("101");
  });

  it("is made before an approved edit", async () => {
    using workspace = new Workspace(root);
    const checkpoints = open();
    const tool = checkpointedTool(writeFileTool(workspace), { checkpoints, workspacePath: root });
    const invocation = await tool.prepare({ file_path: "src/a.txt", content: "proposed" }, signal);
    expect(await checkpoints.list(root, signal)).toEqual([]);
    const changed = invocation.withContent?.("the user's");
    for await (const _event of changed?.execute(signal) ?? []);
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("the user's");
    const [{ id, label } = { id: "", label: "" }] = await checkpoints.list(root, signal);
    expect(label).toBe("Change src/a.txt as the user edited it");
    await checkpoints.restore(root, id, signal);
    expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("one\r\n");
  });

  function open(change: Partial<{ searchPath: string; now: () => Date }> = {}): Checkpoints {
    const now = () => new Date("2026-01-02T03:04:05Z");
    return new Checkpoints({ dataDirectory, searchPath, now, onNotice: (text) => void notices.push(text), ...change });
  }

  function write(path: string, content: string): void {
    writeFileSync(join(root, path), content);
  }

  function state(): Record<string, string> {
    const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).sort();
    return Object.fromEntries(paths.map((path) => [path, readFileSync(path, "utf8")]));
  }
});
