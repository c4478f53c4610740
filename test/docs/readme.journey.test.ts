import { execFile } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Io } from "@devtool/cli/testing";
import { runProgram } from "@devtool/cli/testing";
import { serveCodingAgent } from "@devtool/coding-agent";
import { startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { findSandbox } from "@devtool/sandbox";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { startServerProcess } from "../durability/crash/server-process.ts";
import { SAYS, snippetOf } from "../packed/snippets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const found = await findSandbox(
  "auto",
  { path: process.env.PATH ?? "" },
  AbortSignal.timeout(60_000),
);

describe("the READMEs", () => {
  for (const [name, says] of variantsOf(
    "READMEs with code",
    Object.entries(SAYS),
    4,
  )) {
    it(`of ${name} have code that runs as it stands`, async () => {
      const code = await snippetOf(name);
      const workspace = temporaryDirectory();
      await using server = await serveCodingAgent({ workspace });
      const env = {
        ...process.env,
        DEVTOOL_URL: server.url,
        DEVTOOL_TOKEN: server.token,
      };
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--input-type=module", "-e", code],
        {
          cwd: root,
          env,
        },
      );
      expect(stdout).toBe(says);
    });
  }

  it.each(
    variantsOf(
      "places of a job",
      ["beside the server of the first block", "where no server runs"],
      1,
    ),
  )(
    "show a job that makes a program, as it really goes %s, and leaves nothing in the clone",
    async (where) => {
      const text = await readFile(join(root, "README.md"), "utf8");
      const command =
        /<!-- transcript: command -->\n```sh\n([\s\S]*?)```/.exec(text)?.[1] ??
        "";
      const shown = /<!-- transcript: output -->\n```\n([\s\S]*?)```/.exec(
        text,
      )?.[1];
      const clone = temporaryDirectory();
      const data = join(clone, ".data");
      const workspace = join(clone, "playground");
      const server = where.startsWith("beside")
        ? await startServerProcess({ data, workspace })
        : undefined;
      const devtool = `devtool() { '${process.execPath}' '${join(root, "packages/cli/dist/main.js")}' "$@"; }`;
      const env = { ...process.env, DEVTOOL_DATA: data };
      const script = ["-c", `${devtool}\n${command}`];
      const { stdout, stderr } = await promisify(execFile)("sh", script, {
        cwd: clone,
        env,
      });
      expect([stdout, stderr]).toEqual([
        found.confines
          ? shown
          : shown?.replaceAll(
              "Run node main.mjs",
              "Run node main.mjs (without a sandbox)",
            ),
        expect.stringMatching(
          server
            ? /^task [\w-]+\n$/
            : /^devtool: made the directory \S+\/playground to work in\ntask [\w-]+, log \S+\n$/,
        ),
      ]);
      expect(await readFile(join(workspace, "greet.mjs"), "utf8")).toContain(
        "export const greet",
      );
      expect((await readdir(clone)).filter((name) => name !== ".data")).toEqual(
        ["playground"],
      );
      await server?.stop();
    },
  );

  it("serve a project of your own and another one, and give a job to the current directory", async () => {
    const text = await readFile(join(root, "README.md"), "utf8");
    const block = (name: string): string =>
      new RegExp(
        `<!-- project: ${name} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``,
      ).exec(text)?.[1] ?? "";
    const home = temporaryDirectory();
    for (const name of ["my-project", "my-other-project"]) {
      await mkdir(join(home, name));
    }
    await symlink(root, join(home, "devtool"));
    await plantPrograms(join(home, "my-project"));
    const atHome = (line: string): string[] =>
      line.trim().replaceAll("~", home).split(" ").slice(1);
    const env = {
      ...process.env,
      HOME: home,
      DEVTOOL_DATA: join(home, ".devtool"),
    };
    const serving = terminal(env);
    const [command = "", ...flags] = atHome(block("serve"));
    const served = runProgram([command, "--port", "0", ...flags], serving.io);
    await once(serving.io.stdout, "readable");
    const chatting = terminal(env);
    chatting.io.stdin.push(null);
    await runProgram(atHome(block("chat")), chatting.io);
    expect(chatting.says()).toContain(
      `agent devtool · workspace ${home}/my-project · model scripted · mode default`,
    );

    const { stderr } = await promisify(execFile)("sh", ["-c", block("run")], {
      env,
    });
    expect(stderr).toMatch(/^task [\w-]+\n$/);
    expect(await readdir(join(home, "my-project"))).toEqual([
      "node_modules",
      "package.json",
    ]);
    serving.interrupt();
    expect(await served).toBe(0);
  });

  it("start an agent that thinks with Gemini by a key", async () => {
    const text = await readFile(join(root, "README.md"), "utf8");
    const [, variable = "", script = ""] =
      /<!-- gemini: start -->\n```sh\n(\w+)=… npx -y pnpm@12 (\w+)\n```/.exec(
        text,
      ) ?? [];
    const [, prompt = ""] =
      /<!-- gemini: run -->\n```sh\nnpx -y pnpm@12 devtool run --workspace playground "(.*)"\n```/.exec(
        text,
      ) ?? [];
    const { scripts } = JSON.parse(
      await readFile(join(root, "package.json"), "utf8"),
    );
    expect(scripts[script]).toContain("main.js serve --workspace");

    await using gemini = await startFakeGemini();
    const base = temporaryDirectory();
    const data = ["--data", join(base, "data")];
    const serving = terminal({
      [variable]: "none",
      GOOGLE_GEMINI_BASE_URL: gemini.url,
    });
    const served = runProgram(
      [
        "serve",
        "--port",
        "0",
        "--workspace",
        join(base, "playground"),
        ...data,
      ],
      serving.io,
    );
    await once(serving.io.stdout, "readable");
    const running = terminal({});
    expect(
      await runProgram(
        ["run", "--workspace", join(base, "playground"), ...data, prompt],
        running.io,
      ),
    ).toBe(0);
    expect(running.says()).toContain(`You said: ${prompt}`);
    serving.interrupt();
    expect(await served).toBe(0);
  });
});

/** A terminal without a user. */
function terminal(env: Io["env"]): {
  readonly io: Io;
  says(): string;
  interrupt(): void;
} {
  const stdout = new PassThrough();
  const interrupts = new EventEmitter();
  const io: Io = {
    stdin: new PassThrough(),
    stdout,
    stderr: new PassThrough(),
    env,
    interactive: false,
    onInterrupt(listener) {
      interrupts.on("interrupt", listener);
      return () => interrupts.off("interrupt", listener);
    },
    interrupt: () => undefined,
  };
  return {
    io,
    says: () => stdout.read()?.toString() ?? "",
    interrupt: () => void interrupts.emit("interrupt"),
  };
}

/**
 * Programs of a project that npx and its like would run in place of their own:
 * each leaves a file.
 */
async function plantPrograms(project: string): Promise<void> {
  await writeFile(join(project, "package.json"), "{}");
  for (const name of ["pnpm", "npm", "node", "devtool", "turbo"]) {
    const place = join(project, "node_modules", name);
    await mkdir(place, { recursive: true });
    await mkdir(join(project, "node_modules/.bin"), { recursive: true });
    await writeFile(
      join(place, "package.json"),
      JSON.stringify({ name, version: "12.99.0", bin: { [name]: "run.js" } }),
    );
    await writeFile(
      join(place, "run.js"),
      `#!/bin/sh\n/usr/bin/touch '${join(project, "planted")}'\n`,
      {
        mode: 0o755,
      },
    );
    await symlink(
      `../${name}/run.js`,
      join(project, "node_modules/.bin", name),
    );
  }
}
