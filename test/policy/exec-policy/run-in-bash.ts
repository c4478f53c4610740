import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";

/** The results of command lines. */
export interface BashRuns {
  /**
   * For each command line the programs that it ran, each as the words that it
   * was called with.
   */
  readonly logs: readonly (readonly (readonly string[])[])[];
  /**
   * Whether each command line left the shell as it was: its variables,
   * functions, aliases, options, traps and directory.
   */
  readonly changed: readonly boolean[];
  /**
   * How many command lines did not end by themselves within ten seconds: loops,
   * whose `break` is broken.
   */
  readonly endless: number;
}

/** The programs that exist where command lines run. */
interface Programs {
  readonly stubs: readonly string[];
  /** Programs that run what the real ones of their names would run. */
  readonly wrappers: readonly string[];
  /**
   * Programs that run whatever their words may stand for: every word as a script,
   * and all words from any word on as a command. Without words all but tar and
   * rsync run their input, and `launch` always does. Default: none.
   */
  readonly launchers?: readonly string[];
  /** Empty files in the directory where the lines run. Default: none. */
  readonly files?: readonly string[];
}

/**
 * Runs command lines, each by a bash of its own, where every program only logs
 * how it was called.
 */
export async function runInBash(
  commands: readonly string[],
  programs: Programs,
): Promise<BashRuns> {
  const directory = temporaryDirectory();
  await makePrograms(directory, programs);
  const half = Math.ceil(commands.length / 2);
  const starts = commands.length > 1 ? [0, half] : [0];
  await Promise.all(
    starts.map((start) =>
      runBatch(directory, commands.slice(start, start + half), {
        start,
        files: programs.files ?? [],
      }),
    ),
  );
  const logs = commands.map((_command, index) =>
    readLog(join(directory, "log", `${index}`)),
  );
  const changed = new Set(await readdir(join(directory, "changed")));
  const endless = (await readdir(join(directory, "endless"))).length;
  return {
    logs,
    changed: commands.map((_command, index) => changed.has(`${index}`)),
    endless,
  };
}

/**
 * A log is a text: each word ends with U+001F, each call with U+001E. One write
 * for a call, so that calls do not mix.
 */
const LOG = `printf "%s\\037" "\${0##*/}" "$@" "\u001e" >> "$EXEC_LOG"`;

/**
 * What a launcher does with its words. One that it starts only logs itself, so
 * that no line starts launchers without end.
 */
const LAUNCH = `
[ -z "$EXEC_LAUNCHED" ] || exit 0
case "\${0##*/} $* " in
  *" rebase "* | *" submodule "* | *" bisect "* | *" config "* | *" fetch "*) ;;
  git*) exit 0 ;;
esac
export EXEC_LAUNCHED=1
case "\${0##*/} $#" in
  "tar 0" | "rsync 0") ;;
  launch* | *" 0") /bin/dash ;;
esac
while [ $# -gt 0 ]; do
  (PATH="$PATH" command -v "$1" >/dev/null && "$@")
  /bin/dash -c "$1"
  case $1 in
    *=*) /bin/dash -c "\${1#*=}" ;;
    --*) ;;
    -?*) /bin/dash -c "\${1#-?}" ;;
  esac
  shift
done`;

async function makePrograms(
  directory: string,
  { stubs, wrappers, launchers = [] }: Programs,
): Promise<void> {
  for (const name of ["bin", "log", "work", "endless", "changed"]) {
    await mkdir(join(directory, name));
  }
  const program = async (name: string, text: string): Promise<void> => {
    const path = join(directory, "bin", name);
    await writeFile(path, `#!/bin/dash\n${text}\n`);
    await chmod(path, 0o755);
  };
  for (const name of stubs) await program(name, LOG);
  for (const name of launchers) await program(name, `${LOG}\n${LAUNCH}`);
  for (const name of wrappers) {
    await program(name, `${LOG}\nexec /usr/bin/${name} "$@"`);
  }
  await writeFile(join(directory, "state"), STATE);
}

/**
 * What every bash reads before its command line: when it ends, it compares its
 * state with that of one that ran nothing. What always differs is taken away
 * first.
 */
const STATE = `
trap '
  unset RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME BASHPID LINENO PIPESTATUS BASH_COMMAND BASH_EXECUTION_STRING
  unset COLUMNS LINES FUNCNAME EXEC_LOG
  index=$EXEC_INDEX; unset EXEC_INDEX
  state="$(builtin declare -p; builtin declare -f; builtin alias; builtin shopt -p; builtin shopt -po; builtin trap -p
    builtin umask; builtin pwd -P)"
  state=\${state//PPID=\\"$PPID\\"/}; state=\${state//index=\\"$index\\"/}
  if [ "$index" = reference ]; then printf %s "$state" >"$EXEC_PLACE/reference"
  elif [ "$state" != "$(<"$EXEC_PLACE/reference")" ]; then : >"$EXEC_CHANGED/$index"; fi
' EXIT
`;

/**
 * One bash that starts all the others: much faster than a process of ours for
 * each. One that does not end is killed with all that it started.
 */
const DRIVER = `
export BASH_ENV=$5 EXEC_PLACE=$3 EXEC_CHANGED=$6 EXEC_INDEX=reference
cd "$3" && cd "$3" && /usr/bin/timeout -s KILL 10 /bin/bash -c : </dev/null >/dev/null 2>&1
index=$1
while IFS= read -r -d "" command; do
  export EXEC_LOG="$2/$index" EXEC_INDEX=$index
  cd "$3" && /usr/bin/timeout -s KILL 10 /bin/bash -c "$command" </dev/null >/dev/null 2>&1
  [ $? -ne 137 ] || : >"$4/$index"
  index=$((index + 1))
done
`;

async function runBatch(
  directory: string,
  commands: readonly string[],
  {
    start,
    files,
  }: { readonly start: number; readonly files: readonly string[] },
): Promise<void> {
  const work = join(directory, "work", `${start}`);
  await mkdir(work);
  for (const name of files) await writeFile(join(work, name), "");
  const places = [
    join(directory, "log"),
    work,
    ...["endless", "state", "changed"].map((name) => join(directory, name)),
  ];
  const args = ["-c", DRIVER, "driver", `${start}`, ...places];
  const env = { PATH: join(directory, "bin"), HOME: work, LC_ALL: "C.UTF-8" };
  const child = spawn("/bin/bash", args, {
    env,
    stdio: ["pipe", "ignore", "inherit"],
  });
  child.stdin.end(commands.map((command) => `${command}\0`).join(""));
  await new Promise((resolve, reject) =>
    child.once("exit", resolve).once("error", reject),
  );
}

/**
 * A command line that ran no program has no log. Any other failure would hide
 * what ran, so it ends the test.
 */
function readLog(path: string): string[][] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\u001e\u001f")
    .slice(0, -1)
    .map((call) => call.split("\u001f").slice(0, -1));
}
