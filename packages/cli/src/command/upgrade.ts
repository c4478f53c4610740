import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { promisify } from "node:util";
import { compareVersions, validateStrict } from "compare-versions";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";

/** Maximum time for npm to answer, in milliseconds. */
const TIMEOUT_MS = 30_000;

/**
 * `devtool upgrade --check`: asks the registry of npm's own configuration for
 * the newest version, and says what installs it. Installs nothing.
 */
export async function checkUpgrade(
  installed: string,
  io: Pick<Io, "env" | "stdout" | "stderr">,
): Promise<number> {
  const newest = await newestVersion(io);
  if (newest === undefined) {
    writeLine(
      io.stderr,
      `devtool: this is ${installed}; whether there is a newer version is not known: npm could not ask its registry ("npm view @devtool/cli version" says why)`,
    );
    return ExitCode.FAILED;
  }
  writeLine(
    io.stdout,
    compareVersions(newest, installed) > 0
      ? `devtool ${newest} is published, and this is ${installed}: npm install --global @devtool/cli@${newest}`
      : `devtool ${installed} is the newest version`,
  );
  return ExitCode.OK;
}

/** Returns the newest version that is published. Undefined: it is not known. */
async function newestVersion({
  env,
}: Pick<Io, "env">): Promise<string | undefined> {
  const args = ["view", "@devtool/cli", "version", "--fetch-retries=0"];
  try {
    const { stdout } = await promisify(execFile)("npm", args, {
      env,
      // A repository's own .npmrc could name another registry.
      cwd: env.HOME ?? homedir(),
      timeout: TIMEOUT_MS,
      // npm is npm.cmd there, which only a shell runs.
      shell: process.platform === "win32",
    });
    const version = stdout.trim();
    return validateStrict(version) ? version : undefined;
  } catch {
    return undefined;
  }
}
