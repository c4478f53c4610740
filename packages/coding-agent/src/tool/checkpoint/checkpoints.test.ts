import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { HostPrograms } from "@devtool/sandbox";
import { beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../../../../../test/depth.ts";
import { writeFileTool } from "../builtin/write-file.ts";
import { Workspace } from "../workspace.ts";
import { withCheckpoints } from "./checkpointed-tool.ts";
import { type CheckpointOrigin, Checkpoints } from "./checkpoints.ts";

const programs = new HostPrograms("");

function own(workspacePath: string, taskId = "task"): CheckpointOrigin {
  return { workspacePath, principal: "local", taskId };
}

function bobs(workspacePath: string): CheckpointOrigin {
  return { workspacePath, principal: "bob", taskId: "bobs" };
}

describe("Checkpoints", () => {
  const { signal } = new AbortController();
  let base: string;
  let root: string;
  let dataDirectory: string;
  let notices: string[];
  beforeEach(() => {
    base = temporaryDirectory();
    root = join(base, "workspace");
    dataDirectory = join(base, "data");
    notices = [];
    for (const directory of [root, join(root, "src"), dataDirectory]) {
      mkdirSync(directory);
    }
    write("src/a.txt", "one\r\n");
    write("run.sh", "#!/bin/sh\n");
    chmodSync(join(root, "run.sh"), 0o755);
  });

  it("B28: says which files are in no checkpoint because of their names", async () => {
    const bytes = Buffer.concat([Buffer.from(`${root}/src/`), Buffer.of(0xff)]);
    writeFileSync(bytes, "x");
    mkdirSync(Buffer.concat([bytes, Buffer.from("-dir")]));
    await open().snapshot(own(root), "Change", signal);
    expect(notices).toEqual([
      "src/\ufffd is in no checkpoint: its name is not UTF-8",
      "src/\ufffd-dir is in no checkpoint: its name is not UTF-8",
    ]);
    write("src/a.txt", "two");
    expect(await restore(open(), own(root), "1")).toEqual([
      "src/a.txt",
      "src/\ufffd (left as it is: its name is not UTF-8)",
      "src/\ufffd-dir (left as it is: its name is not UTF-8)",
    ]);
  });

  it("restores changed, deleted and new files, also after a restart", async () => {
    const before = state();
    const id = await open().snapshot(own(root), "Change src/a.txt", signal);
    write("src/a.txt", "two");
    rmSync(join(root, "run.sh"));
    write('src/new "quoted"\n.txt', "new");
    const lines = await restore(open(), own(root), id ?? "");
    expect(state()).toEqual(before);
    expect(lines.toSorted()).toEqual([
      '"src/new \\"quoted\\"\\n.txt" (removed)',
      "run.sh",
      "src/a.txt",
    ]);
    expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o755);
  });

  it.each([0o022, 0o002, 0o077])(
    "B28: restores the permissions of files, no wider and no narrower, under umask %o",
    async (umask) => {
      const before = process.umask(umask);
      try {
        const modes = [0o600, 0o640, 0o444, 0o644, 0o755, 0o700, 0o664, 0o4755];
        const names = modes.flatMap((mode) =>
          ["deleted", "written", "opened", "run"].map((what): string => {
            const name = `${mode.toString(8)}-${what}`;
            write(name, "secret");
            chmodSync(join(root, name), mode);
            return name;
          }),
        );
        const id = await open().snapshot(own(root), "Change", signal);
        for (const name of names) {
          const path = join(root, name);
          if (name.endsWith("deleted")) rmSync(path);
          if (name.endsWith("written")) write(name, "x");
          if (name.endsWith("opened")) chmodSync(path, 0o666);
          if (name.endsWith("run")) chmodSync(path, 0o711);
        }
        const lines = await restore(open(), own(root), id ?? "");
        expect(lines.toSorted()).toEqual(names.toSorted());
        for (const name of names) {
          const path = join(root, name);
          expect([name, (statSync(path).mode & 0o7777).toString(8)]).toEqual([
            name,
            (Number.parseInt(name, 8) & 0o777).toString(8),
          ]);
          expect(readFileSync(path, "utf8")).toBe("secret");
        }
      } finally {
        process.umask(before);
      }
    },
  );

  it("B28: makes directories that are gone for their owner alone", async () => {
    mkdirSync(join(root, "private/deep"), { recursive: true, mode: 0o700 });
    write("private/deep/key", "secret");
    const id = await open().snapshot(own(root), "Change", signal);
    rmSync(join(root, "private"), { recursive: true });
    await restore(open(), own(root), id ?? "");
    expect(
      ["private", "private/deep", "private/deep/key"].map((path) =>
        (statSync(join(root, path)).mode & 0o777).toString(8),
      ),
    ).toEqual(["700", "700", "644"]);
  });

  it("B28: makes no file of a checkpoint of an earlier version wider", async () => {
    write("secret", "s");
    chmodSync(join(root, "secret"), 0o600);
    const id = (await open().snapshot(own(root), "Change", signal)) ?? "";
    const [, ref = ""] = git("show-ref").trim().split(" ");
    const subject = git("log", "-1", "--format=%s", ref);
    const author = ["-c", "user.name=x", "-c", "user.email=x@x.example"];
    const commit = git(
      ...author,
      "commit-tree",
      `${ref}^{tree}`,
      "-m",
      subject,
    );
    git("update-ref", ref, commit.trim());
    rmSync(join(root, "secret"));
    rmSync(join(root, "run.sh"));
    expect(await open().preview(own(root), id, signal)).toMatchObject({
      write: ["run.sh", "secret"],
    });
    await restore(open(), own(root), id);
    const modeOf = (name: string) => statSync(join(root, name)).mode & 0o777;
    expect([modeOf("secret"), modeOf("run.sh")]).toEqual([0o600, 0o700]);
  });

  it("lists checkpoints with time and label, newest first, and makes none if nothing changed", async () => {
    const checkpoints = open();
    expect(await checkpoints.list(own(root), signal)).toEqual([]);
    expect(await checkpoints.snapshot(own(root), "one", signal)).toBe("1");
    expect(
      await checkpoints.snapshot(own(root), "nothing changed", signal),
    ).toBe("1");
    write("src/a.txt", "two\r\n");
    expect(
      await checkpoints.snapshot(own(root), 'second "quoted"\nline', signal),
    ).toBe("2");
    const time = new Date("2026-01-02T03:04:05Z");
    const second = { id: "2", label: 'second "quoted"\nline', time };
    expect(await open().list(own(root), signal)).toEqual([
      second,
      { id: "1", label: "one", time },
    ]);
    expect(await open().list(own(join(base, "other")), signal)).toEqual([]);
  });

  it("goes on after a checkpoint that was made although its maker heard of a failure", async () => {
    const checkpoints = open();
    await checkpoints.snapshot(own(root), "one", signal);
    write("src/a.txt", "two");
    // As a process that is stopped before it reads git's answer: the commit is
    // there, and this instance does not know it.
    expect(await open().snapshot(own(root), "two", signal)).toBe("2");
    write("src/a.txt", "three");
    const attempts = [];
    for (const label of ["three", "again"]) {
      attempts.push(await checkpoints.snapshot(own(root), label, signal));
    }
    expect(attempts.at(-1)).toBe("3");
  });

  it("leaves names alone that are not UTF-8, and treats names with a meaning for git as files", async () => {
    const odd = Buffer.concat([
      Buffer.from(`${root}/`),
      Buffer.from([0xff, 0xfe]),
    ]);
    writeFileSync(odd, "one");
    const names = ["git~1", ".GIT", "-x", " y", "M 100644 :1 z"];
    for (const name of names) write(name, "one");
    const id = await open().snapshot(own(root), "Change them", signal);
    for (const name of [...names.map((each) => join(root, each)), odd]) {
      writeFileSync(name, "two");
    }
    expect((await restore(open(), own(root), id ?? "")).toSorted()).toEqual(
      [
        ...names,
        "\ufffd\ufffd (left as it is: its name is not UTF-8)",
      ].toSorted(),
    );
    for (const name of names) {
      expect(fileText(root, name), name).toBe("one");
    }
    expect(readFileSync(odd, "utf8")).toBe("two");
  });

  it("previews the changes of a restore, and makes no others", async () => {
    const checkpoints = open({ now: () => new Date() });
    const id = await checkpoints.snapshot(own(root), "one", signal);
    write("src/a.txt", "two");
    write("src/b.txt", "new");
    const shown = await open({ now: () => new Date() }).preview(
      own(root),
      id ?? "",
      signal,
    );
    expect(shown).toEqual({ id, write: ["src/a.txt"], remove: ["src/b.txt"] });
    expect(await checkpoints.preview(own(root), id ?? "", signal)).toEqual(
      shown,
    );
    expect(await checkpoints.list(own(root), signal)).toMatchObject([{ id }]);
    write("run.sh", "made later");
    await expect(checkpoints.restore(own(root), shown, signal)).rejects.toThrow(
      '"run.sh" changed since it was shown what would be restored: try again',
    );
    expect(fileText(root, "run.sh")).toBe("made later");
    expect(fileText(root, "src/a.txt")).toBe("two");
  });

  it("can undo a restore", async () => {
    const checkpoints = open({ now: () => new Date() });
    const first = await checkpoints.snapshot(own(root), "one", signal);
    write("src/a.txt", "precious");
    write("src/b.txt", "new");
    const later = state();
    await restore(checkpoints, own(root), first ?? "");
    expect(state()).not.toEqual(later);
    const [undo] = await checkpoints.list(own(root), signal);
    expect(undo?.label).toBe("restore checkpoint 1");
    await restore(checkpoints, own(root), undo?.id ?? "");
    expect(state()).toEqual(later);
  });

  it("leaves files alone that are ignored, very large, links, or older than the checkpoint", async () => {
    write(".gitignore", "*.log\n");
    write("secret.log", "kept out");
    write("large", "x".repeat(11 * 1024 * 1024));
    symlinkSync("/etc/passwd", join(root, "link"));
    const checkpoints = open({ now: () => new Date() });
    const id = await checkpoints.snapshot(own(root), "one", signal);
    write(".gitignore", "# nothing\n");
    write("large", "small now");
    write("src/a.txt", "two");
    const lines = await restore(
      open({ now: () => new Date() }),
      own(root),
      id ?? "",
    );
    expect(lines.toSorted()).toEqual([
      ".gitignore",
      "large (left as it is: it is older than the checkpoint)",
      "secret.log (left as it is: it is older than the checkpoint)",
      "src/a.txt",
    ]);
    expect(fileText(root, "secret.log")).toBe("kept out");
    expect(fileText(root, "large")).toBe("small now");
    expect(fileText(root, "src/a.txt")).toBe("one\r\n");
    expect(existsSync(join(root, "link"))).toBe(true);
  });

  it("does not replace a file that it could not restore, and does not write through links", async () => {
    const outside = join(base, "outside");
    writeFileSync(outside, "outside");
    const checkpoints = open();
    const id = await checkpoints.snapshot(own(root), "one", signal);
    write("src/a.txt", "x".repeat(11 * 1024 * 1024));
    rmSync(join(root, "run.sh"));
    symlinkSync(outside, join(root, "run.sh"));
    const lines = await restore(checkpoints, own(root), id ?? "");
    expect(lines.toSorted()).toEqual([
      expect.stringMatching(/^run.sh \(left as it is: .*symbolic link/),
      "src/a.txt (left as it is: it is ignored or too large now: move it away)",
    ]);
    expect(readFileSync(outside, "utf8")).toBe("outside");
  });

  it("leaves alone what took the place of a file or of its directory, also after the preview, and goes on", async () => {
    const outside = join(base, "outside");
    putFile(outside, "a.txt", "outside");
    for (const name of ["directory", "pipe", "swapped"]) write(name, "one");
    mkdirSync(join(root, "late"));
    write("late/a.txt", "one");
    const checkpoints = open();
    const id = await checkpoints.snapshot(own(root), "one", signal);
    for (const name of ["directory", "pipe", "swapped", "src"]) {
      rmSync(join(root, name), { recursive: true });
    }
    mkdirSync(join(root, "directory"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    symlinkSync(join(outside, "a.txt"), join(root, "swapped"));
    symlinkSync(outside, join(root, "src"));
    write("late/a.txt", "two");
    write("run.sh", "two");
    const preview = await checkpoints.preview(own(root), id ?? "", signal);
    rmSync(join(root, "late"), { recursive: true });
    symlinkSync(outside, join(root, "late"));
    const lines = await checkpoints.restore(own(root), preview, signal);
    const kept = lines.filter((line) => line.includes("(left as it is: "));
    expect(kept.map((line) => line.split(" ")[0]).toSorted()).toEqual([
      "directory",
      "late/a.txt",
      "pipe",
      "src/a.txt",
      "swapped",
    ]);
    expect(fileText(root, "run.sh")).toBe("#!/bin/sh\n");
    expect(readdirSync(outside)).toEqual(["a.txt"]);
    expect(fileText(outside, "a.txt")).toBe("outside");
  });

  it.each([
    "",
    ".",
    "../1",
    "1^{tree}",
    "1/../../heads/x",
    "01",
    "1\n2",
    "--all",
    "1\u0000",
  ])("knows no checkpoint %j", async (id) => {
    const checkpoints = open();
    await checkpoints.snapshot(own(root), "one", signal);
    await expect(checkpoints.preview(own(root), id, signal)).rejects.toThrow(
      "does not exist",
    );
    await expect(
      checkpoints.restore(own(root), { id, write: [], remove: [] }, signal),
    ).rejects.toThrow("does not exist");
  });

  it("runs no program and reads no configuration of a workspace", async () => {
    const spy = join(base, "spy");
    const command = `touch ${spy}`;
    execFileSync("git", ["init", "--quiet", root]);
    execFileSync("git", ["init", "--quiet", join(root, "nested")]);
    const config = `[core]\n fsmonitor = ${command}\n hooksPath = ${root}/hooks\n[filter "evil"]\n clean = ${command}\n smudge = ${command}\n`;
    for (const path of [".git/config", "nested/.git/config"]) {
      write(path, config);
    }
    mkdirSync(join(root, "hooks"));
    for (const hook of [
      "reference-transaction",
      "post-commit",
      "post-index-change",
    ]) {
      write(`hooks/${hook}`, `#!/bin/sh\n${command}\n`);
      chmodSync(join(root, "hooks", hook), 0o755);
    }
    write(
      ".gitattributes",
      "* filter=evil text eol=crlf ident working-tree-encoding=UTF-16\n",
    );
    write("nested/b.txt", "$Id$\none\n");
    const checkpoints = open();
    const id = await checkpoints.snapshot(own(root), "one", signal);
    write("nested/b.txt", "two");
    await restore(checkpoints, own(root), id ?? "");
    expect(fileText(root, "nested/b.txt")).toBe("$Id$\none\n");
    expect(existsSync(spy)).toBe(false);
    spawnSync("git", ["-C", root, "add", "--all"]);
    expect(
      existsSync(spy),
      "the program runs if git reads the workspace (sabotage)",
    ).toBe(true);
  });

  it("recovers after a crash in the middle of a checkpoint", async () => {
    const id = await open().snapshot(own(root), "one", signal);
    const locked = git("for-each-ref", "--format=%(refname)");
    const ref = locked.trim().replace(/1$/, "2");
    putFile(dataDirectory, join("checkpoints.git", `${ref}.lock`), "");
    write("src/a.txt", "two");
    expect(await open().snapshot(own(root), "two", signal)).toBe("2");
    await restore(open(), own(root), id ?? "");
    expect(fileText(root, "src/a.txt")).toBe("one\r\n");
    expect(notices).toEqual([]);
  });

  it("reports once that git is missing, and lets calls run without a checkpoint", async () => {
    const checkpoints = open({
      programs: new HostPrograms(join(base, "nothing"), []),
    });
    expect(
      await checkpoints.snapshot(own(root), "one", signal),
    ).toBeUndefined();
    expect(
      await checkpoints.snapshot(own(root), "two", signal),
    ).toBeUndefined();
    expect(await checkpoints.list(own(root), signal)).toEqual([]);
    expect(notices).toEqual([
      "no checkpoint was made: git is not installed: install it to be able to go back to checkpoints",
    ]);
    await expect(restore(checkpoints, own(root), "1")).rejects.toThrow(
      "git is not installed",
    );
  });

  it("reports the place of an internal error once", async () => {
    const fail = (): never => {
      throw new TypeError("secret");
    };
    const checkpoints = open({
      programs: Object.assign(new HostPrograms(""), { find: fail }),
    });
    expect(
      await checkpoints.snapshot(own(root), "one", signal),
    ).toBeUndefined();
    expect(
      await checkpoints.snapshot(own(root), "two", signal),
    ).toBeUndefined();
    expect(notices).toEqual([
      expect.stringMatching(
        /^making a checkpoint failed inside the server: \{.*"error":"TypeError","at":/,
      ),
      "no checkpoint was made: internal error: the server's log says more",
    ]);
  });

  it("separates the checkpoints of workspaces, and runs one operation at a time", async () => {
    const checkpoints = open();
    await expect(restore(checkpoints, own(root), "7")).rejects.toThrow(
      'checkpoint "7" does not exist: /restore list',
    );
    const other = join(base, "other");
    mkdirSync(other);
    const both = [
      checkpoints.snapshot(own(root), "one", signal),
      checkpoints.snapshot(own(other), "one", signal),
    ];
    expect(await Promise.all(both)).toEqual(["1", "1"]);
    expect(await restore(checkpoints, own(other), "1")).toEqual([]);
    expect(readdirSync(other)).toEqual([]);
  });

  it("does not save the data directory if it is in the workspace", async () => {
    dataDirectory = join(root, "data");
    putFile(dataDirectory, "tasks.db", "one");
    const checkpoints = open();
    await checkpoints.snapshot(own(root), "one", signal);
    putFile(dataDirectory, "tasks.db", "two");
    expect(await checkpoints.snapshot(own(root), "two", signal)).toBe("1");
    expect(await restore(checkpoints, own(root), "1")).toEqual([]);
    expect(fileText(dataDirectory, "tasks.db")).toBe("two");
  });

  it.skipIf(LEFT_TO_CI !== "")(
    `keeps the newest hundred checkpoints of each principal${LEFT_TO_CI}`,
    async () => {
      const checkpoints = open();
      const bob = bobs(root);
      await checkpoints.snapshot(bob, "bob's", signal);
      for (let index = 2; index <= 200; index++) {
        write("src/a.txt", `${index}`);
        await checkpoints.snapshot(own(root), `${index}`, signal);
      }
      const kept = await checkpoints.list(own(root), signal);
      expect([kept.length, kept[0]?.id, kept.at(-1)?.id]).toEqual([
        100,
        "200",
        "101",
      ]);
      expect(await checkpoints.list(bob, signal)).toMatchObject([
        { id: "1", label: "bob's" },
      ]);
      await restore(checkpoints, own(root), "101");
      expect(fileText(root, "src/a.txt")).toBe("101");
    },
  );

  it("lets only the principal who made a checkpoint see and restore it", async () => {
    const bob = bobs(root);
    const checkpoints = open();
    expect(
      await checkpoints.snapshot(own(root), "Run make secret-project", signal),
    ).toBe("1");
    expect(await checkpoints.list(bob, signal)).toEqual([]);
    await expect(restore(checkpoints, bob, "1")).rejects.toThrow(
      'checkpoint "1" does not exist',
    );
    expect(await checkpoints.snapshot(bob, "Change a", signal)).toBe("2");
    expect(await open().list(bob, signal)).toMatchObject([
      { id: "2", label: "Change a" },
    ]);
  });

  it("assigns a checkpoint of an earlier version to the operator", async () => {
    await open().snapshot({ ...own(root), principal: "" }, "old", signal);
    expect(await open().list(own(root), signal)).toMatchObject([
      { label: "old" },
    ]);
    expect(await open().list(bobs(root), signal)).toEqual([]);
  });

  describe("of a task that is deleted", () => {
    it.each(["the same", "another"])(
      "go with their labels and what only they contain, in %s run of the server, and no others",
      async (run) => {
        const checkpoints = open();
        const other = join(base, "other");
        putFile(other, "b.txt", "a secret, too");
        await checkpoints.snapshot(own(root, "kept"), "kept label", signal);
        // From now on, it knows which tasks have checkpoints.
        await checkpoints.forget("none");
        write("src/a.txt", "secret content");
        for (const workspace of [root, other]) {
          const origin = own(workspace, "gone");
          await checkpoints.snapshot(origin, "secret label", signal);
        }
        for (const text of ["secret label", "secret content", "secret, too"]) {
          expect(objects()).toContain(text);
        }
        await (run === "another" ? open() : checkpoints).forget("gone");
        expect(objects()).toContain("kept label");
        expect(objects()).not.toContain("secret");
        expect(await open().list(own(other), signal)).toEqual([]);
        expect(await open().list(own(root), signal)).toMatchObject([
          { id: "1", label: "kept label" },
        ]);
        await restore(open(), own(root, "kept"), "1");
        expect(fileText(root, "src/a.txt")).toBe("one\r\n");
      },
    );

    it("are its own, also when nothing changed since those of another task, and their numbers are not given again", async () => {
      const checkpoints = open();
      for (const [id, task] of ["one", "two", "two", "three"].entries()) {
        expect([
          id,
          await checkpoints.snapshot(own(root, task), task, signal),
        ]).toEqual([id, ["1", "2", "2", "3"][id]]);
      }
      await checkpoints.forget("one");
      await checkpoints.forget("three");
      expect(
        await checkpoints.snapshot(own(root, "two"), "again", signal),
      ).toBe("2");
      write("src/a.txt", "two");
      expect(
        await checkpoints.snapshot(own(root, "four"), "four", signal),
      ).toBe("4");
      expect(await restore(checkpoints, own(root, "four"), "2")).toEqual([
        "src/a.txt",
      ]);
      expect(await checkpoints.list(own(root), signal)).toMatchObject([
        { id: "4" },
        { id: "2" },
      ]);
    });

    it("go on another try after a kill that left their contents and locks", async () => {
      await open().snapshot(own(root), "secret label", signal);
      git("gc", "--quiet");
      git(
        "update-ref",
        "-d",
        git("for-each-ref", "--format=%(refname)").trim(),
      );
      const repository = join(dataDirectory, "checkpoints.git");
      putFile(repository, "gc.pid", `${process.pid} ${hostname()}`);
      for (const name of readdirSync(join(repository, "objects/pack"))) {
        if (!name.endsWith(".pack")) continue;
        putFile(repository, `objects/pack/${name.slice(0, -5)}.keep`, "");
      }
      await open().forget("task");
      expect(objects()).not.toContain("secret label");
    });

    it("stay with an error while git is missing, which is not started where there are none", async () => {
      let isInstalled = false;
      const find = (name: string, workspaces: readonly string[]) =>
        isInstalled ? programs.find(name, workspaces) : undefined;
      const checkpoints = open({
        programs: Object.assign(new HostPrograms(""), { find }),
      });
      await checkpoints.forget("task");
      expect(readdirSync(dataDirectory)).toEqual([]);
      await checkpoints.snapshot(own(root), "none", signal);
      await checkpoints.forget("task");
      isInstalled = true;
      await checkpoints.snapshot(own(root), "one", signal);
      for (let attempt = 0; attempt < 2; attempt++) {
        isInstalled = false;
        await expect(checkpoints.forget("task")).rejects.toThrow(
          "checkpoints of deleted tasks cannot be removed: git is not installed: check git on the server, or stop it and remove checkpoints.git",
        );
        isInstalled = true;
        // The second time, it knows which tasks have checkpoints.
        await checkpoints.forget("none");
      }
      expect(await checkpoints.list(own(root), signal)).toHaveLength(1);
      await checkpoints.forget("task");
      expect(await checkpoints.list(own(root), signal)).toEqual([]);
    });

    it("go together with those of tasks that are deleted meanwhile, and without git for tasks that have none", async () => {
      let started = 0;
      const find = (name: string, workspaces: readonly string[]) => {
        started++;
        return programs.find(name, workspaces);
      };
      const checkpoints = open({
        programs: Object.assign(new HostPrograms(""), { find }),
      });
      const tasks = ["one", "two", "three"];
      for (const task of tasks) {
        await checkpoints.snapshot(own(root, task), task, signal);
      }
      await checkpoints.forget("none");
      started = 0;
      for (let count = 0; count < 20; count++) {
        await checkpoints.forget(`none ${count}`);
      }
      expect(started).toBe(0);
      await Promise.all(tasks.map((task) => checkpoints.forget(task)));
      // Git lists, removes and sweeps.
      expect(started).toBe(3);
      expect(await checkpoints.list(own(root), signal)).toEqual([]);
    });
  });

  it("makes a checkpoint before an approved edit", async () => {
    using workspace = new Workspace(root);
    const checkpoints = open();
    const tool = withCheckpoints(
      writeFileTool(workspace),
      checkpoints,
      own(root),
    );
    const invocation = await tool.prepare(
      { file_path: "src/a.txt", content: "proposed" },
      signal,
    );
    expect(await checkpoints.list(own(root), signal)).toEqual([]);
    const changed = invocation.withContent?.("the user's");
    for await (const _event of changed?.execute(signal) ?? []);
    expect(fileText(root, "src/a.txt")).toBe("the user's");
    const [{ id, label } = { id: "", label: "" }] = await checkpoints.list(
      own(root),
      signal,
    );
    expect(label).toBe("Change src/a.txt as the user edited it");
    await restore(checkpoints, own(root), id);
    expect(fileText(root, "src/a.txt")).toBe("one\r\n");
  });

  async function restore(
    checkpoints: Checkpoints,
    origin: CheckpointOrigin,
    id: string,
  ): Promise<readonly string[]> {
    return checkpoints.restore(
      origin,
      await checkpoints.preview(origin, id, signal),
      signal,
    );
  }

  /** Runs git in the repository of the checkpoints, and returns its output. */
  function git(...args: string[]): string {
    const cwd = join(dataDirectory, "checkpoints.git");
    return execFileSync("git", args, { cwd, encoding: "latin1" });
  }

  /** The contents of all objects of the repository, also unreachable ones. */
  function objects(): string {
    return git("cat-file", "--batch-all-objects", "--batch");
  }

  function open(
    change: Partial<{ programs: HostPrograms; now: () => Date }> = {},
  ): Checkpoints {
    const now = () => new Date("2026-01-02T03:04:05Z");
    return new Checkpoints({
      dataDirectory,
      programs,
      operator: "local",
      now,
      onNotice: (text) => void notices.push(text),
      ...change,
    });
  }

  function write(path: string, content: string): void {
    putFile(root, path, content);
  }

  function state(): Record<string, string> {
    const entries = readdirSync(root, {
      recursive: true,
      withFileTypes: true,
    }).filter((entry) => entry.isFile());
    const paths = entries
      .map(({ parentPath, name }) => join(parentPath, name))
      .sort();
    return Object.fromEntries(
      paths.map((path) => [path, readFileSync(path, "utf8")]),
    );
  }
});
