import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import {
  checkedAccess,
  descriptorAccess,
} from "@devtool/internal/directory-access";
import { fileText, putFile } from "@devtool/internal/testing/files";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { roundsOf } from "../../../../test/depth.ts";
import { Workspace } from "./workspace.ts";

/**
 * S9 demands 100,000 attempts. They take 35 s by descriptors, and none of them
 * left the workspace. Checked paths take some 10 ms an attempt while a directory
 * is swapped.
 */
const ATTEMPTS = {
  kernel: roundsOf("DEVTOOL_WORKSPACE_ATTEMPTS", {
    quick: 5_000,
    ci: 20_000,
    deep: 100_000,
  }),
  checked: roundsOf("DEVTOOL_CHECKED_ATTEMPTS", {
    quick: 100,
    ci: 500,
    deep: 20_000,
  }),
};

/**
 * The directory of the tests that write thousands of times: a file system in
 * memory, if there is one. On a disk, syncing each write would take nine tenths
 * of the time. test/durability/durability.test.ts tests that writes are synced.
 */
const FAST_DIRECTORY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

describe.each([descriptorAccess, checkedAccess])(
  "Workspace by $mechanism (S9)",
  (access) => {
    const attempts = ATTEMPTS[access.strength];
    let base: string;
    let root: string;
    let outside: string;
    let workspace: Workspace;

    function prepare(parent: string): void {
      base = realpathSync(mkdtempSync(join(parent, "devtool-workspace-")));
      root = join(base, "inside");
      outside = join(base, "outside");
      for (const directory of [root, outside, join(base, "inside-evil")]) {
        mkdirSync(directory);
      }
      putFile(outside, "secret", "secret");
      workspace = new Workspace(root, access);
    }
    function clear(): void {
      workspace[Symbol.dispose]();
      rmSync(base, { recursive: true, force: true });
    }
    /** The ends of the processes that swap a directory. */
    const flippers: Promise<unknown>[] = [];
    beforeEach(() => prepare(tmpdir()));
    afterEach(async () => {
      await Promise.all(flippers.splice(0));
      clear();
    });

    it("writes and reads files, and creates missing directories", () => {
      workspace.writeFile("a/b/c.txt", "content");
      expect(workspace.readFile(join(root, "a/b/c.txt"))?.toString()).toBe(
        "content",
      );
      expect(readdirSync(root, { recursive: true })).toEqual([
        "a",
        "a/b",
        "a/b/c.txt",
      ]);
      expect(workspace.readFile("a/missing")).toBeUndefined();
    });

    it("writes a file with a name of the maximum length", () => {
      const name = "名".repeat(85);
      workspace.writeFile(name, "content");
      expect(readdirSync(root)).toEqual([name]);
    });

    it("keeps the mode of a file regardless of the umask, and removes leftovers of a crash", () => {
      const mask = process.umask(0o077);
      try {
        workspace.writeFile("run", "one");
        chmodSync(join(root, "run"), 0o775);
        workspace.writeFile("run", "two");
      } finally {
        process.umask(mask);
      }
      expect(statSync(join(root, "run")).mode & 0o777).toBe(0o775);
      const living = `.run.${process.ppid}.0.devtool-tmp`;
      for (const name of [
        `.run.${process.pid}.0.devtool-tmp`,
        ".run.4194305.0.devtool-tmp",
        living,
        "mine.devtool-tmp",
      ]) {
        putFile(root, name, "");
      }
      workspace.writeFile("run", "three");
      workspace.removeLeftovers(".");
      expect(readdirSync(root).sort()).toEqual([
        living,
        "mine.devtool-tmp",
        "run",
      ]);
    });

    it("removes only regular files", () => {
      mkdirSync(join(root, "directory"));
      symlinkSync(join(outside, "secret"), join(root, "link"));
      workspace.writeFile("file", "");
      for (const path of ["file", "missing", "no/such"]) {
        workspace.removeFile(path);
      }
      expect(() => workspace.removeFile("directory")).toThrow("is a directory");
      expect(() => workspace.removeFile("link")).toThrow(
        "goes through a symbolic link",
      );
      expect(() => workspace.removeFile("../outside/secret")).toThrow(
        "is outside workspace",
      );
      expect(readdirSync(root).sort()).toEqual(["directory", "link"]);
    });

    it("rejects paths outside, even if they have the workspace's path as a prefix", () => {
      for (const path of [
        "../outside/secret",
        "/etc/passwd",
        join(base, "inside-evil/x"),
        "a/../../outside/secret",
        "..",
        "a\0b",
      ]) {
        expect(() => workspace.readFile(path), path).toThrow(
          /outside workspace|NUL/,
        );
        expect(() => workspace.writeFile(path, "x"), path).toThrow(
          /outside workspace|NUL/,
        );
      }
    });

    it("does not follow symbolic links, neither to a file nor to a directory", () => {
      symlinkSync(outside, join(root, "link"));
      symlinkSync(join(outside, "secret"), join(root, "file"));
      expect(() => workspace.readFile("link/secret")).toThrow(
        "goes through a symbolic link",
      );
      expect(() => workspace.readFile("file")).toThrow(
        "goes through a symbolic link",
      );
      expect(() => workspace.writeFile("link/new", "x")).toThrow(
        "goes through a symbolic link",
      );
      expect(() => workspace.writeFile("file", "x")).toThrow(
        "goes through a symbolic link",
      );
      expect(fileText(outside, "secret")).toBe("secret");
    });

    it("does not write a file with several hard links, and does not read a pipe", () => {
      linkSync(join(outside, "secret"), join(root, "hard"));
      execFileSync("mkfifo", [join(root, "pipe")]);
      expect(() => workspace.writeFile("hard", "x")).toThrow(
        "has several hard links",
      );
      expect(() => workspace.readFile("pipe")).toThrow("is not a regular file");
    });

    describe("in memory", () => {
      beforeEach(() => {
        clear();
        prepare(FAST_DIRECTORY);
      });

      it("reads and writes nothing outside, for any path", () => {
        const segment = fc.oneof(
          fc.constantFrom("..", ".", "", "link", "outside", "secret", "inside"),
          fc.string({ maxLength: 8 }),
        );
        symlinkSync(outside, join(root, "link"));
        fc.assert(
          fc.property(
            fc.array(segment, { maxLength: 6 }),
            fc.boolean(),
            (segments, absolute) => {
              const path = `${absolute ? "/" : ""}${segments.join("/")}`;
              const read = attempt(() => workspace.readFile(path)?.toString());
              attempt(() => workspace.writeFile(path, "changed"));
              return (
                read !== "secret" && fileText(outside, "secret") === "secret"
              );
            },
          ),
          { numRuns: 2000 },
        );
      });

      it(`reads and writes nothing outside while a directory is swapped for a link, ${attempts} times`, {
        timeout: 10 * 60_000 + attempts * 30,
      }, () => {
        const escapes = race(
          (path) => workspace.writeFile(path, "escaped"),
          (path) => workspace.readFile(path)?.toString(),
        );
        expect(escapes.next().value).toBeUndefined();
        // What `DirectoryAccess` says of each strength.
        const left = readdirSync(outside).filter((name) => name !== "secret");
        if (access.strength === "kernel") expect(left).toEqual([]);
        expect(left.map((name) => fileText(outside, name))).toEqual(
          left.map(() => ""),
        );
      });

      it("would be caught if it checked a path before using it (sabotage of S9)", () => {
        const check = (path: string): string => {
          const real = realpathSync(join(root, dirname(path)));
          if (!real.startsWith(root)) throw new Error("outside");
          return join(root, path);
        };
        let escaped: string | undefined;
        // On a busy machine, the swapping process may hardly run during one race.
        for (
          let attempt = 0;
          escaped === undefined && attempt < 500;
          attempt++
        ) {
          const escapes = race(
            (path) => writeFileSync(check(path), "escaped"),
            (path) => readFileSync(check(path), "utf8"),
          );
          escaped = escapes.next().value ?? undefined;
          escapes.return();
        }
        expect(escaped).toBeDefined();
      });
    });

    it.each([
      ...[1, 2].map((turn) => ["reads", turn] as const),
      ...[1, 2, 3, 4, 5].map((turn) => ["writes", turn] as const),
    ])(
      "%s nothing outside when a directory becomes a link after its check number %d",
      (verb, turn) => {
        putFile(root, "swap/secret", "inside");
        let checks = 0;
        using racing = new Workspace(root, {
          ...access,
          reach: (fd, path) => {
            const reached = access.reach(fd, path);
            if (basename(path) === "swap" && ++checks === turn) {
              renameSync(join(root, "swap"), join(root, "away"));
              symlinkSync(outside, join(root, "swap"));
            }
            return reached;
          },
        });
        const read = attempt(() =>
          verb === "reads"
            ? racing.readFile("swap/secret")?.toString()
            : racing.writeFile("swap/secret", "escaped"),
        );
        expect(existsSync(join(root, "away"))).toBe(true);
        expect(read).not.toBe("secret");
        expect(fileText(outside, "secret")).toBe("secret");
        const left = readdirSync(outside).filter((name) => name !== "secret");
        if (access.strength === "kernel") expect(left).toEqual([]);
        expect(left.map((name) => fileText(outside, name))).toEqual(
          left.map(() => ""),
        );
      },
    );

    it("does not follow a link in place of a directory above the workspace", () => {
      const inner = join(root, "outer/inner");
      mkdirSync(inner, { recursive: true });
      putFile(outside, "inner/secret", "secret");
      using moved = new Workspace(inner, access);
      renameSync(join(root, "outer"), join(root, "away"));
      symlinkSync(outside, join(root, "outer"));
      const message = "is not where it was";
      expect(() => moved.readFile("secret")).toThrow(message);
      expect(() => moved.writeFile("new", "x")).toThrow(message);
      expect(() => moved.readDirectory("")).toThrow(message);
      expect(() => moved.directoryPath(".")).toThrow(message);
      expect(readdirSync(join(outside, "inner"))).toEqual(["secret"]);
    });

    it("R3: does not go on in a workspace that was moved", () => {
      const inner = join(root, "outer/inner");
      mkdirSync(inner, { recursive: true });
      using moved = new Workspace(inner, access);
      moved.writeFile("a", "x");
      renameSync(join(root, "outer"), join(root, "away"));
      mkdirSync(inner, { recursive: true });
      const known =
        access === descriptorAccess
          ? `: it leads to "${join(root, "away/inner")}"`
          : "";
      const message = `workspace "${inner}" is not where it was${known}`;
      expect(() => moved.readFile("a")).toThrow(message);
      expect(() => moved.writeFile("a", "y")).toThrow(message);
      expect(() => moved.directoryPath(".")).toThrow(message);
      expect(readdirSync(inner)).toEqual([]);
    });

    /**
     * Writes and reads through a directory that another process swaps for a link.
     * Returns the accesses that left the workspace.
     */
    function* race(
      write: (path: string) => void,
      read: (path: string) => string | undefined,
    ): Generator<string, void> {
      // The process of the race before may still swap its own.
      const swap = `swap-${flippers.length}`;
      mkdirSync(join(root, swap));
      // A file of the same name inside, so that the path leads somewhere at each
      // moment.
      putFile(root, `${swap}/secret`, "inside");
      const flipper = spawn(
        "perl",
        ["-e", FLIPPER, join(root, swap), outside],
        {
          stdio: "ignore",
        },
      );
      flippers.push(once(flipper, "close"));
      try {
        for (let index = 0; index < attempts; index++) {
          const name = `${index % 50}`;
          attempt(() => write(`${swap}/${name}`));
          if (existsSync(join(outside, name))) yield name;
          const path = `${swap}/secret`;
          if (attempt(() => read(path)) === "secret") yield "secret";
        }
      } finally {
        flipper.kill("SIGKILL");
      }
    }
  },
);

const FLIPPER = `my ($path, $target) = @ARGV; while (1) {
  rename($path, "$path.real"); symlink($target, $path); unlink($path); rename("$path.real", $path); }`;

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
