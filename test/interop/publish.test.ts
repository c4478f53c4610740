import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import {
  commonVersion,
  ROOT,
  readManifests,
} from "../../scripts/release/manifests.ts";
import { DEPTH } from "../depth.ts";
import { findVerdaccio, LocalRegistry } from "../packed/registry.ts";

const run = promisify(execFile);

/** What a user runs who installed a release, without a clone or tarballs. */
const PROGRAM = `
import { createDevtoolClient } from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { VERSION } from "@devtool/server";
console.log(typeof createDevtoolClient, codingAgent({}).about.name, VERSION);
`;

describe("a release", () => {
  it("is published to a registry, once, and installed from there", {
    timeout: 900_000,
  }, async ({ skip }) => {
    if (DEPTH !== "deep") return skip("only pnpm test:deep publishes");
    const verdaccio = await findVerdaccio();
    if ("reason" in verdaccio) return skip(verdaccio.reason);
    await using registry = await LocalRegistry.start(verdaccio.program);
    const base = temporaryDirectory();
    const home = join(base, "home");
    await mkdir(home);
    const cache = process.env.npm_config_cache ?? join(homedir(), ".npm");
    const settings = await registry.settings();
    const env = {
      ...process.env,
      HOME: home,
      npm_config_userconfig: settings,
      NPM_CONFIG_USERCONFIG: settings,
    };
    const publish = [join(ROOT, "scripts/release-publish.ts")];

    await run(process.execPath, publish, { cwd: ROOT, env });
    const published = readManifests().filter(({ isPublished }) => isPublished);
    for (const { name } of published) {
      const response = await fetch(
        `${registry.url}${name.replace("/", "%2f")}`,
      );
      const { versions }: { readonly versions: object } = JSON.parse(
        await response.text(),
      );
      expect(Object.keys(versions), name).toEqual([commonVersion()]);
    }
    // A job that runs again publishes nothing twice.
    await run(process.execPath, publish, { cwd: ROOT, env });

    const project = join(base, "project");
    await mkdir(project);
    await writeFile(
      join(project, "package.json"),
      '{ "private": true, "type": "module" }',
    );
    await writeFile(join(project, "main.js"), PROGRAM);
    const names = ["@devtool/cli", "@devtool/client", "@devtool/coding-agent"];
    await run("npm", ["install", "--silent", "--cache", cache, ...names], {
      cwd: project,
      env,
    });
    const { stdout } = await run(process.execPath, ["main.js"], {
      cwd: project,
      env,
    });
    expect(stdout).toBe(`function devtool ${commonVersion()}\n`);
    const command = join(project, "node_modules/@devtool/cli/dist/main.js");
    expect(
      (await run(process.execPath, [command, "--version"], { env })).stdout,
    ).toBe(`${commonVersion()}\n`);
  });
});
