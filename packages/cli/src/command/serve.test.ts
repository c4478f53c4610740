import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal } from "../../test/fake-terminal.ts";
import { runProgram } from "../program.ts";
import { runCommand } from "../testing/run-command.ts";

describe("devtool serve", () => {
  let base: string;
  beforeEach(() => {
    base = temporaryDirectory();
  });

  it.each([
    [
      "a script of the clone",
      { PNPM_SCRIPT_SRC_DIR: "/clone", INIT_CWD: "/clone" },
      "npx -y pnpm@12 devtool chat",
    ],
    [
      "a script of a clone elsewhere",
      { PNPM_SCRIPT_SRC_DIR: "/clone", INIT_CWD: "/project" },
      "devtool chat",
    ],
    [
      "npx",
      { INIT_CWD: "/project", npm_lifecycle_event: "npx" },
      "npx devtool chat",
    ],
    ["its name", {}, "devtool chat"],
  ])(
    "names the command to try as it was itself started: by %s",
    async (_way, env, command) => {
      const terminal = new FakeTerminal({ NO_COLOR: "1", ...env });
      const place = [
        "--data",
        join(base, "data"),
        "--workspace",
        join(base, "work"),
      ];
      const code = runProgram(["serve", "--port", "0", ...place], terminal.io);
      await terminal.shows("your next message.");
      expect(terminal.said).toContain(
        `\n  ${command} --data ${join(base, "data")}\n`,
      );
      terminal.interrupt();
      expect(await code).toBe(0);
    },
  );

  it("names the server that has the port already, if it is the one of the data directory", async () => {
    const terminal = new FakeTerminal({ NO_COLOR: "1" });
    const [data, work] = [join(base, "data"), join(base, "work")];
    const code = runProgram(
      ["serve", "--port", "0", "--data", data, "--workspace", work],
      terminal.io,
    );
    await terminal.shows("your next message.");
    const { port } = new URL(/http:\S+/.exec(terminal.said)?.[0] ?? "");
    expect(
      await runCommand([
        "serve",
        "--port",
        port,
        "--data",
        data,
        "--workspace",
        join(base, "second"),
      ]),
    ).toMatchObject({
      code: 1,
      err: `devtool: port ${port} of 127.0.0.1 is in use by the server of this data directory, which serves "${work}" (process ${process.pid}): stop it, or give this one another --port and --data\n`,
    });
    const other = ["--data", join(base, "other"), "--workspace", work];
    expect((await runCommand(["serve", "--port", port, ...other])).err).toBe(
      `devtool: port ${port} of 127.0.0.1 is in use: choose another, or 0 for a free one\n`,
    );
    terminal.interrupt();
    expect(await code).toBe(0);
  });

  it("U9: says which address it is bound to, beside that of its clients", async () => {
    const tokenFile = join(base, "token");
    await writeFile(tokenFile, "0123456789abcdef".repeat(2), { mode: 0o600 });
    const terminal = new FakeTerminal({ NO_COLOR: "1" });
    const flags = [
      ["--host", "0.0.0.0", "--port", "0", "--tls-ended-by-proxy"],
      ["--public-url", "https://agents.example", "--token-file", tokenFile],
      ["--data", join(base, "data"), "--workspace", join(base, "work")],
    ];
    const code = runProgram(["serve", ...flags.flat()], terminal.io);
    await terminal.shows("your next message.");
    expect(terminal.said).toMatch(
      /gRPC +https:\/\/agents\.example \(listens at port \d+ of 0\.0\.0\.0\)\n/,
    );
    terminal.interrupt();
    expect(await code).toBe(0);
  });

  it("makes a workspace that is missing, and says so", async () => {
    const flags = ["--data", join(base, "data"), "--workspace"];
    const work = join(base, "work");
    for (const line of [
      `devtool serves ${work}, a new directory\n`,
      `devtool serves ${work}\n`,
    ]) {
      const terminal = new FakeTerminal({ NO_COLOR: "1" });
      const code = runProgram(
        ["serve", "--port", "0", ...flags, work],
        terminal.io,
      );
      await terminal.shows("your next message.");
      expect(terminal.said).toContain(line);
      terminal.interrupt();
      expect(await code).toBe(0);
    }
  });

  it("does not start in a directory whose parent is missing, in a file, or for a root that is missing", async () => {
    const file = join(base, "file");
    await writeFile(file, "");
    const missing = join(base, "mistyped");
    const inside = join(missing, "work");
    const place = ["--data", join(base, "data"), "--workspace"];
    const parent = `"${missing}" does not exist: check the spelling of --workspace, or make that directory first`;
    const errors = [
      [[inside], `workspace "${inside}" cannot be made, because ${parent}`],
      [[file], `workspace "${file}" is a file: choose a directory`],
      [[base, "--root", missing], `root "${missing}" does not exist: name an`],
      [[base, "--root", file], `root "${file}" is a file: name an existing`],
    ] as const;
    for (const [flags, error] of errors) {
      expect(await refusal([...place, ...flags])).toMatchObject({
        code: 1,
        error: expect.stringContaining(error),
      });
    }
    expect(await readdir(base)).toEqual(["file"]);
  });

  describe("whose data directory and workspace overlap", () => {
    it.each([
      ["contains", ".", "home/.devtool"],
      ["contains, by a link,", "link", "home/.devtool"],
      ["is", "home/.devtool", "home/.devtool"],
      ["lies in", "home/.devtool/work", "home/.devtool"],
    ])(
      "does not start, and says what to do: the workspace %s the data",
      async (_how, workspace, data) => {
        await mkdir(join(base, "home"));
        await symlink("home", join(base, "link"));
        const { code, error } = await refusal([
          "--data",
          join(base, data),
          "--workspace",
          join(base, workspace),
        ]);
        expect(code).toBe(1);
        expect(error).toMatch(
          `the server's own data "${join(base, data)}": choose a project's directory with --workspace, or name one with --root`,
        );
        expect(error).toContain(`workspace "${join(base, workspace)}" `);
        expect(await readdir(join(base, "home"))).toEqual([]);
      },
    );

    it("does not start for a further root that overlaps, too", async () => {
      const flags = [
        "--data",
        join(base, ".devtool"),
        "--workspace",
        base,
        "--root",
        join(base, ".devtool/work"),
      ];
      expect(await refusal(flags)).toMatchObject({ code: 1 });
    });

    it("starts when another root can be worked in", async () => {
      const terminal = new FakeTerminal({ NO_COLOR: "1" });
      await mkdir(join(base, "project"));
      const place = [
        "--data",
        join(base, ".devtool"),
        "--workspace",
        base,
        "--root",
        join(base, "project"),
      ];
      const code = runProgram(["serve", "--port", "0", ...place], terminal.io);
      await terminal.shows("your next message.");
      terminal.interrupt();
      expect(await code).toBe(0);
    });
  });

  async function refusal(
    flags: readonly string[],
  ): Promise<{ code: number; error: string }> {
    const { code, err } = await runCommand(["serve", "--port", "0", ...flags]);
    return { code, error: err };
  }
});
