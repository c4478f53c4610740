import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../../../../test/depth.ts";
import manifest from "../../package.json" with { type: "json" };
import { AGENT_COMMANDS } from "../agents/agent-commands.ts";
import { SERVER_COMMANDS } from "../server-commands.ts";
import { runCommand } from "../testing/run-command.ts";
import { SHELLS } from "./completion-script.ts";
import { checkUpgrade } from "./upgrade.ts";

/** How each shell says what it offers for a line that is being typed. */
const OFFERS = {
  bash: (file: string, words: readonly string[]) => [
    "--norc",
    "-c",
    `source ${file}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _devtool; printf '%s\n' "\${COMPREPLY[@]}"`,
  ],
  zsh: (file: string, words: readonly string[]) => [
    "-f",
    "-c",
    // What zsh gives to its completion functions, without a terminal.
    `compdef() { :; }; _describe() { for each in "\${(@P)2}"; do [[ $each = "\${words[CURRENT]}"* ]] && print -r -- "\${each%%:*}"; done; true; }; source ${file}; words=(${words.map((word) => `'${word}'`).join(" ")}); CURRENT=${words.length}; _devtool`,
  ],
  fish: (file: string, words: readonly string[]) => [
    "--no-config",
    "-c",
    `source ${file}; complete -C '${words.join(" ")}' | string replace -r '\t.*' ''`,
  ],
};

for (const shell of SHELLS) {
  const why =
    spawnSync(shell, ["--version"]).status === 0
      ? ""
      : ` (skipped: ${shell} is not installed)`;

  describe.skipIf(why !== "")(`the completions of ${shell}${why}`, () => {
    it.each([
      { typed: ["devtool", "serv"], offered: "serve" },
      { typed: ["devtool", "tasks", "del"], offered: "delete" },
      { typed: ["devtool", "serve", "--work"], offered: "--workspace" },
      { typed: ["devtool", "run", "--approve", ""], offered: "never" },
      {
        typed: ["devtool", "policy", "explain", "--to"],
        offered: "--tool",
      },
    ])("offer $offered after $typed", async ({ typed, offered }) => {
      const { out } = await runCommand(["completion", shell]);
      const directory = temporaryDirectory();
      putFile(directory, "script", out);
      const file = join(directory, "script");
      const { stdout: found, stderr } = spawnSync(
        shell,
        OFFERS[shell](file, typed),
        { encoding: "utf8", env: { ...process.env, HOME: directory } },
      );
      expect(stderr).toBe("");
      expect(found.split("\n")).toContain(offered);
      expect(found.split("\n")).not.toContain("audit");
    });
  });
}

describe("devtool man", () => {
  it("prints a page with every command and its options", async () => {
    const { out } = await runCommand(["man"]);
    expect(out).toMatch(/^\.TH DEVTOOL 1 /);
    expect(out).toContain(".SS devtool tasks delete ");
    expect(out).toContain(".B \\-\\-approval\\-mode <mode>\n");
    const names = [...AGENT_COMMANDS, ...SERVER_COMMANDS].flatMap(
      (set) => set.names,
    );
    for (const name of [...names, "conformance", "upgrade", "mcp login"]) {
      const escaped = name.replaceAll("-", "\\-");
      const heading = new RegExp(`^\\.SS devtool ${escaped} [[<]`, "m");
      expect(out, name).toMatch(heading);
    }
  });

  const why =
    spawnSync("man", ["--version"]).status === 0
      ? ""
      : " (skipped: man is not installed)";
  it.skipIf(why !== "")(`is read by man without a warning${why}`, async () => {
    const { out } = await runCommand(["man"]);
    const page = spawnSync("man", ["--warnings", "-l", "-"], {
      input: out,
      encoding: "utf8",
      env: { ...process.env, MANWIDTH: "100", LC_ALL: "C.UTF-8" },
    });
    expect(page.stderr).toBe("");
    expect(page.stdout).toContain("devtool serve [options]");
  });
});

describe("devtool upgrade", () => {
  it.each(
    variantsOf(
      "versions in a registry",
      [
        {
          version: "99.0.0",
          says: `devtool 99.0.0 is published, and this is ${manifest.version}: npm install --global @devtool/cli@99.0.0\n`,
        },
        {
          version: manifest.version,
          says: `devtool ${manifest.version} is the newest version\n`,
        },
        {
          version: "0.0.9",
          says: `devtool ${manifest.version} is the newest version\n`,
        },
      ],
      2,
    ),
  )("says what npm's registry has: $version", async ({ version, says }) => {
    await using registry = await startRegistry(version);
    const { code, out } = await runCommand(["upgrade", "--check"], {
      env: npmAt(registry.url),
    });
    expect({ code, out }).toEqual({ code: 0, out: says });
    expect(registry.asked).toContain("/@devtool%2fcli");
  });

  it.each(
    variantsOf(
      "prereleases",
      [
        { installed: "0.2.0-beta.1", newest: "0.2.0", isNewer: true },
        { installed: "0.2.0-beta.2", newest: "0.2.0-beta.10", isNewer: true },
        { installed: "0.2.0", newest: "0.2.0-beta.1", isNewer: false },
      ],
      1,
    ),
  )(
    "orders prereleases as semver does: $newest after $installed",
    async ({ installed, newest, isNewer }) => {
      await using registry = await startRegistry(newest);
      const stdout = new PassThrough();
      const io = { env: npmAt(registry.url), stdout, stderr: stdout };
      expect(await checkUpgrade(installed, io)).toBe(0);
      const out = String(stdout.read());
      expect(out).toContain(isNewer ? "is published" : "is the newest");
    },
  );

  it("says that it does not know where the registry cannot be asked", async () => {
    const { url, [Symbol.asyncDispose]: close } = await startRegistry("1.0.0");
    await close();
    const { code, out, err } = await runCommand(["upgrade", "--check"], {
      env: npmAt(url),
    });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("whether there is a newer version is not known");
  });

  it("asks nobody without --check", async () => {
    await using registry = await startRegistry("99.0.0");
    const { code } = await runCommand(["upgrade"], {
      env: npmAt(registry.url),
    });
    expect(code).toBe(2);
    expect(registry.asked).toEqual([]);
  });
});

/** An environment in which npm's configuration names a registry. */
function npmAt(url: string): NodeJS.ProcessEnv {
  const home = temporaryDirectory();
  putFile(home, ".npmrc", `@devtool:registry=${url}\n`);
  const { PATH } = process.env;
  return { PATH, HOME: home, npm_config_update_notifier: "false" };
}

/** A registry on loopback that has one version of the command. */
async function startRegistry(version: string) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        name: "@devtool/cli",
        "dist-tags": { latest: version },
        versions: { [version]: { name: "@devtool/cli", version } },
      }),
    );
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => void server.close(closed));
    },
  };
}
