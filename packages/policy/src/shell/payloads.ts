import { readGitCommand } from "./git-options.ts";
import type { Doubt, SimpleCommand } from "./reading.ts";

/**
 * The commands that a command may run besides itself. They are too many rather
 * than too few.
 */
export interface Payload {
  /** Commands among the words, for instance the words after `sudo`. */
  readonly commands: readonly SimpleCommand[];
  /** Words that are command lines, for instance the word after `sh -c`. */
  readonly scripts: readonly string[];
  /**
   * Words that may be command lines, for instance those after `watch`. What is
   * in doubt about them does not count.
   */
  readonly guesses: readonly string[];
  /** Why the command asks. */
  readonly doubt: Doubt;
}

const SHELLS: ReadonlySet<string> = new Set(
  "sh bash dash ash zsh ksh mksh fish rbash csh tcsh pwsh".split(" "),
);

/** Programs whose arguments are, or contain, another command. */
const WRAPPERS: ReadonlySet<string> = new Set(
  (
    "env sudo doas su runuser nohup xargs time timeout nice ionice chrt taskset setsid stdbuf unbuffer chroot strace ltrace " +
    "gdb perf valgrind watch parallel command builtin exec coproc busybox toybox unshare nsenter flock script " +
    "setarch linux32 linux64 i386 i686 x86_64 prlimit choom uclampset logsave sg ssh-agent run0 pkexec su-exec gosu setpriv " +
    "capsh newgrp numactl cpulimit dtach daemonize torsocks torify proxychains proxychains4 faketime rlwrap chpst softlimit " +
    "run-parts envdir setlock setuidgid tini dumb-init catatonit cgexec aa-exec runcon sshpass hyperfine watchexec gtimeout genv gnice " +
    "ssh systemd-run start-stop-daemon dbus-run-session xvfb-run proot fakeroot firejail bwrap expect entr at batch crontab " +
    "if then elif else while until do done fi { !"
  ).split(" "),
);

/** The dynamic linker, which runs the program that it is given. */
const LOADER = /^ld(-[\w-]+)?\.so|^ld-linux/;

/**
 * Builtins that evaluate their arguments, or change how later commands run. The
 * other builtins are treated like programs.
 */
const BUILTINS: ReadonlySet<string> = new Set(
  (
    ". source alias unalias bind caller cd compgen complete compopt declare dirs disown enable export fc getopts hash let " +
    "local logout mapfile popd pushd read readarray readonly return set shift shopt suspend test [ [[ times typeset ulimit " +
    "umask unset wait exit break continue bg fg jobs kill history help case esac select function in for }"
  ).split(" "),
);

/**
 * The maximum number of words of a wrapper that are each read as the start of a
 * command. The wrapper asks in any case.
 */
const MAX_SUFFIXES = 64;
/** The maximum number of words of such a command. */
const MAX_WORDS = 256;

const EVALUATING: ReadonlySet<string> = new Set(["eval", "trap"]);
const FINDING: ReadonlySet<string> = new Set(["find", "gfind", "fd", "fdfind"]);
const FIND_RUNS = /^(-exec|-execdir|-ok|-okdir|-x|-X|--exec|--exec-batch)(=|$)/;

const AWKS: ReadonlySet<string> = new Set(
  "awk gawk mawk nawk original-awk".split(" "),
);
/**
 * How an awk program runs, reads or writes something, and the flags that load a
 * program or a library from a file.
 */
const AWK_RUNS = /\bsystem\b|[|>@]|\bgetline\b/;
const AWK_FLAG = /^-(?![Fv])./;
/**
 * A string of awk, with or without its end: matching an open string too keeps
 * the search linear.
 */
const AWK_STRING = /"((?:[^"\\]|\\[\s\S]?)*)"?/g;

const MAKES: ReadonlySet<string> = new Set(["make", "gmake", "bmake"]);
/**
 * Flags that take makefiles from elsewhere, and variables that choose the shell
 * or hold more than one word.
 */
const MAKE_RUNS =
  /^(--ev|-E|-[^\WCIEWjlo]*f|--f|--mak|-I|--inc)|^\.?(SHELL|SHELLFLAGS|\w*MAKEFLAGS|MAKEFILES)\W*=|=.*[^\w./,:+=@%-]/;

/**
 * Returns the commands that a command may run besides itself; undefined when it
 * runs only itself.
 */
export function payloadOf({ words }: SimpleCommand): Payload | undefined {
  const [first = "", ...args] = words;
  const name = first.slice(first.lastIndexOf("/") + 1);
  if (EVALUATING.has(name)) {
    const doubt: Doubt = {
      kind: "builtin",
      text: `uses ${name}, which runs its words as commands`,
    };
    return {
      commands: [],
      scripts: name === "trap" ? args : [args.join(" ")],
      guesses: [],
      doubt,
    };
  }
  if (name === "git") return gitPayload(words);
  if (AWKS.has(name)) {
    if (!args.some((word) => AWK_RUNS.test(word) || AWK_FLAG.test(word))) {
      return undefined;
    }
    const literals = args.flatMap((word) =>
      [...word.matchAll(AWK_STRING)].map(([, text = ""]) => text),
    );
    return {
      commands: [],
      scripts: [],
      guesses: literals,
      doubt: runsAnother(name),
    };
  }
  if (MAKES.has(name)) {
    if (!args.some((word) => MAKE_RUNS.test(word))) return undefined;
    const values = args
      .filter((word) => word.includes("="))
      .map((word) => word.slice(word.indexOf("=") + 1));
    // A value is a command, or a rule whose command follows the target:
    // `x:;rm y`.
    const guesses = values.flatMap((value) => [
      value,
      value.slice(value.search(/[:;]/) + 1).replace(/^;/, ""),
    ]);
    return { commands: [], scripts: [], guesses, doubt: runsAnother(name) };
  }
  if (SHELLS.has(name) || WRAPPERS.has(name) || LOADER.test(name)) {
    return wrapperPayload(name, args);
  }
  if (FINDING.has(name) && args.some((word) => FIND_RUNS.test(word))) {
    return wrapperPayload(name, args);
  }
  // `printf -v` and `%n` write to a variable, whose subscript the shell
  // evaluates.
  const setsVariable =
    name === "printf" && /^-|%[^%a-mo-zA-Z]*n/.test(args[0] ?? "");
  if (!setsVariable && !BUILTINS.has(name)) return undefined;
  return {
    commands: [],
    scripts: [],
    guesses: [],
    doubt: { kind: "builtin", text: `uses the builtin ${name}` },
  };
}

/**
 * Reads every suffix of the arguments as a command, since only the program
 * knows where its own flags end.
 */
function wrapperPayload(name: string, args: readonly string[]): Payload {
  const isShell = SHELLS.has(name);
  return {
    commands: args.slice(0, MAX_SUFFIXES).map((_word, index) => ({
      words: args.slice(index, index + MAX_WORDS),
    })),
    scripts: isShell ? args : [],
    guesses: isShell ? [] : args.filter((word) => /\s/.test(word)),
    doubt: runsAnother(name),
  };
}

function runsAnother(name: string): Doubt {
  return { kind: "wrapper", text: `uses ${name}, which runs another program` };
}

/**
 * The settings of git that name a person, a colour or a default. Any other
 * setting may name a program.
 */
const HARMLESS_SETTING =
  /^(user\.(name|email)|color\.\w+|advice\.\w+|init\.defaultbranch|core\.quotepath|(commit|tag)\.gpgsign)=/i;

/**
 * `git -c alias.x='!rm y' x` runs `rm`; other settings name pagers, editors and
 * transports.
 */
function gitPayload(words: readonly string[]): Payload | undefined {
  const git = readGitCommand(words);
  const settings = git.settings.filter(
    (setting) => !HARMLESS_SETTING.test(setting),
  );
  if (settings.length === 0) return undefined;
  const values = settings.map((setting) =>
    setting.slice(setting.indexOf("=") + 1),
  );
  return {
    commands: values.map((value) => ({
      words: ["git", ...value.split(/\s+/)],
    })),
    scripts: [],
    guesses: values.map((value) => value.replace(/^!/, "")),
    doubt: {
      kind: "wrapper",
      text: "configures git, which then may run another program",
    },
  };
}
