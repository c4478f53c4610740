import { execFile, spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileText, putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it, onTestFinished } from "vitest";
import { startServing } from "../durability/crash/server-process.ts";
import { MAIN } from "../our-command.ts";

/** Runs a command where `/proc` is empty, as on systems that have none. */
const WITHOUT_PROC =
  "bwrap --die-with-parent --dev-bind / / --tmpfs /proc --".split(" ");
const why =
  spawnSync("bwrap", [...WITHOUT_PROC.slice(1), "true"]).status === 0
    ? ""
    : " (skipped: there is no bwrap, or it may not make namespaces)";

describe.skipIf(why !== "")(`a system without /proc${why}`, () => {
  it("plays a session whose files are confined by checked paths, and says what that does not promise", async () => {
    const base = temporaryDirectory();
    const place = ["--data", join(base, "data")];
    putFile(base, "workspace/old.txt", "old\n");
    const node = join(base, "node");
    putFile(
      base,
      "node",
      `#!/bin/sh\nexec ${WITHOUT_PROC.join(" ")} ${process.execPath} "$@"\n`,
    );
    chmodSync(node, 0o755);
    const server = await startServing(
      [...place, "--workspace", join(base, "workspace")],
      process.env,
      undefined,
      node,
    );
    onTestFinished(() => server.kill());
    const weakness = "the workspace is confined by checked paths, since";
    expect(server.said.stderr).toContain(weakness);

    await run("write made/new.txt new\nnext\nedit old.txt old => newer");
    expect(fileText(base, "workspace/made/new.txt")).toBe("new");
    expect(fileText(base, "workspace/old.txt")).toBe("newer\n");

    const doctor = await promisify(execFile)(node, [MAIN, "doctor", ...place]);
    expect(doctor.stdout).toMatch(new RegExp(`^· files +${weakness}`, "m"));

    function run(prompt: string): Promise<unknown> {
      const flags = ["--workspace", join(base, "workspace")];
      const args = ["run", ...place, ...flags, "--approve", "all", prompt];
      return promisify(execFile)(process.execPath, [MAIN, ...args], {
        cwd: base,
      });
    }
  });
});
