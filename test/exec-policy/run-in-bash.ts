import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What came of command lines. */
export interface BashRuns {
  /** For each command line the programs that it ran, each as the words that it was called with. */
  readonly logs: readonly (readonly (readonly string[])[])[];
  /** So many command lines did not end by themselves within ten seconds: loops, whose `break` is broken. */
  readonly endless: number;
}

/** Runs command lines, each by a bash of its own, where every program only logs how it was called. */
export async function runInBash(
  commands: readonly string[],
  programs: { readonly stubs: readonly string[]; readonly wrappers: readonly string[] },
): Promise<BashRuns> {
  const directory = await mkdtemp(join(tmpdir(), "devtool-bash-"));
  try {
    await makePrograms(directory, programs);
    const half = Math.ceil(commands.length / 2);
    const starts = commands.length > 1 ? [0, half] : [0];
    await Promise.all(starts.map((start) => runBatch(directory, commands.slice(start, start + half), start)));
    const logs = commands.map((_command, index) => readLog(join(directory, "log", `${index}`)));
    return { logs, endless: (await readdir(join(directory, "endless"))).length };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A log is a text: each word ends with U+001F, each call with U+001E. One write for a call, so that calls do not mix. */
const LOG = `printf "%s\\037" "\${0##*/}" "$@" "\u001e" >> "$EXEC_LOG"`;

async function makePrograms(
  directory: string,
  { stubs, wrappers }: { readonly stubs: readonly string[]; readonly wrappers: readonly string[] },
): Promise<void> {
  for (const name of ["bin", "log", "work", "endless"]) await mkdir(join(directory, name));
  const program = async (name: string, text: string): Promise<void> => {
    const path = join(directory, "bin", name);
    await writeFile(path, `#!/bin/dash\n${text}\n`);
    await chmod(path, 0o755);
  };
  for (const name of stubs) await program(name, LOG);
  for (const name of wrappers) await program(name, `${LOG}\nexec /usr/bin/${name} "$@"`);
}

/**
 * One bash that starts all the others: much faster than a process of ours for each. One that does not end is killed with
 * all that it started.
 */
const DRIVER = `
index=$1
while IFS= read -r -d "" command; do
  export EXEC_LOG="$2/$index"
  cd "$3" && /usr/bin/timeout -s KILL 10 /bin/bash -c "$command" </dev/null >/dev/null 2>&1
  [ $? -ne 137 ] || : >"$4/$index"
  index=$((index + 1))
done
`;

async function runBatch(directory: string, commands: readonly string[], start: number): Promise<void> {
  const work = join(directory, "work", `${start}`);
  await mkdir(work);
  const args = ["-c", DRIVER, "driver", `${start}`, join(directory, "log"), work, join(directory, "endless")];
  const env = { PATH: join(directory, "bin"), HOME: work, LC_ALL: "C.UTF-8" };
  const child = spawn("/bin/bash", args, { env, stdio: ["pipe", "ignore", "inherit"] });
  child.stdin.end(commands.map((command) => `${command}\0`).join(""));
  await new Promise((resolve, reject) => child.once("exit", resolve).once("error", reject));
}

/** A command line that ran no program has no log. Any other failure would hide what ran, so it ends the test. */
function readLog(path: string): string[][] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\u001e\u001f")
    .slice(0, -1)
    .map((call) => call.split("\u001f").slice(0, -1));
}
