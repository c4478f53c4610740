import { readGitCommand } from "./git-options.ts";
import type { Doubt, SimpleCommand } from "./reading.ts";

/** What a command may run beside itself. */
export interface Payload {
  /** Commands that are words of this one, for instance what follows `sudo`: too many rather than too few. */
  readonly commands: readonly SimpleCommand[];
  /** Words that are command lines themselves, for instance what follows `sh -c`. */
  readonly scripts: readonly string[];
  /** Words that may be command lines, for instance what follows `watch`. */
  readonly guesses: readonly string[];
  readonly doubt: Doubt;
}

const SHELLS: ReadonlySet<string> = new Set("sh bash dash ash zsh ksh mksh fish rbash csh tcsh pwsh".split(" "));

/** Programs whose arguments are, or hold, another command. */
const WRAPPERS: ReadonlySet<string> = new Set(
  (
    "env sudo doas su runuser nohup xargs time timeout nice ionice chrt taskset setsid stdbuf unbuffer chroot strace ltrace " +
    "gdb perf valgrind watch parallel command builtin exec coproc busybox toybox unshare nsenter setpriv flock script " +
    "ssh systemd-run start-stop-daemon dbus-run-session xvfb-run proot fakeroot firejail bwrap expect entr at batch crontab " +
    "if then elif else while until do done fi { !"
  ).split(" "),
);

/** Builtins that change what later words mean, or evaluate their arguments. The others are programs like any other. */
const BUILTINS: ReadonlySet<string> = new Set(
  (
    ". source alias unalias bind caller cd compgen complete compopt declare dirs disown enable export fc getopts hash let " +
    "local logout mapfile popd pushd read readarray readonly return set shift shopt suspend test [ [[ times typeset ulimit " +
    "umask unset wait exit break continue bg fg jobs kill history help case esac select function in for }"
  ).split(" "),
);

/** The number of words of a wrapper that are each taken for the start of a command; it asks in any case. */
const MAX_SUFFIXES = 64;

const EVALUATING: ReadonlySet<string> = new Set(["eval", "trap"]);
const FINDING: ReadonlySet<string> = new Set(["find", "gfind", "fd", "fdfind"]);
const FIND_RUNS = /^(-exec|-execdir|-ok|-okdir|-x|-X|--exec|--exec-batch)(=|$)/;

/** Says what a command may run beside itself; undefined when it runs nothing but itself. */
export function payloadOf({ words }: SimpleCommand): Payload | undefined {
  const [first = "", ...args] = words;
  const name = first.slice(first.lastIndexOf("/") + 1);
  if (EVALUATING.has(name)) return evaluating(name, args);
  if (name === "git") return configuring(words);
  if (AWKS.has(name)) return programming(name, args);
  if (MAKES.has(name)) return making(name, args);
  if (SHELLS.has(name) || WRAPPERS.has(name)) return wrapping(name, args);
  if (FINDING.has(name) && args.some((word) => FIND_RUNS.test(word))) return wrapping(name, args);
  if (BUILTINS.has(name) || (name === "printf" && setsVariable(args[0] ?? "")))
    return { commands: [], scripts: [], guesses: [], doubt: { kind: "builtin", text: `uses the builtin ${name}` } };
  return undefined;
}

/** Settings of git that name a person, a colour or a default: all others may name a program. */
const HARMLESS_SETTING =
  /^(user\.(name|email)|color\.\w+|advice\.\w+|init\.defaultbranch|core\.quotepath|(commit|tag)\.gpgsign)=/i;

/** `git -c alias.x='!rm y' x` runs `rm`, and other settings name pagers, editors and transports. */
function configuring(words: readonly string[]): Payload | undefined {
  const git = readGitCommand(words);
  const settings = git.settings.filter((setting) => !HARMLESS_SETTING.test(setting));
  if (settings.length === 0) return undefined;
  const values = settings.map((setting) => setting.slice(setting.indexOf("=") + 1));
  return {
    commands: values.map((value) => ({ words: ["git", ...value.split(/\s+/)] })),
    scripts: [],
    guesses: values.map((value) => value.replace(/^!/, "")),
    doubt: { kind: "wrapper", text: "configures git, which then may run another program" },
  };
}

const AWKS: ReadonlySet<string> = new Set("awk gawk mawk nawk original-awk".split(" "));
/** What an awk program runs, reads or writes with, and flags that take one from a file or load a library. */
const AWK_RUNS = /\bsystem\b|[|>@]|\bgetline\b/;
const AWK_FLAG = /^-(?![Fv])./;
/** A string, also one that does not end: what begins always matches, so that no text is read twice. */
const AWK_STRING = /"((?:[^"\\]|\\[\s\S]?)*)"?/g;

function programming(name: string, args: readonly string[]): Payload | undefined {
  if (!args.some((word) => AWK_RUNS.test(word) || AWK_FLAG.test(word))) return undefined;
  const literals = args.flatMap((word) => [...word.matchAll(AWK_STRING)].map(([, text = ""]) => text));
  return {
    commands: [],
    scripts: [],
    guesses: literals,
    doubt: { kind: "wrapper", text: `uses ${name}, which runs another program` },
  };
}

const MAKES: ReadonlySet<string> = new Set(["make", "gmake", "bmake"]);
/** Makefiles from elsewhere, and variables that hold more than a word or say which shell runs. */
const MAKE_RUNS =
  /^(--eval|-E|-f|--file|--makefile|-I|--include-dir)|^\.?(SHELL|SHELLFLAGS|\w*MAKEFLAGS|MAKEFILES)\W*=|=.*[^\w./,:+=@%-]/;

function making(name: string, args: readonly string[]): Payload | undefined {
  if (!args.some((word) => MAKE_RUNS.test(word))) return undefined;
  const values = args.filter((word) => word.includes("=")).map((word) => word.slice(word.indexOf("=") + 1));
  return {
    commands: [],
    scripts: [],
    // What follows the target of a rule: `x:;rm y`.
    guesses: values.flatMap((value) => [value, value.slice(value.search(/[:;]/) + 1).replace(/^;/, "")]),
    doubt: { kind: "wrapper", text: `uses ${name}, which runs another program` },
  };
}

/** `printf -v` and `%n` write to a variable, whose subscript is evaluated. */
function setsVariable(format: string): boolean {
  return format.startsWith("-") || /%[^%a-mo-zA-Z]*n/.test(format);
}

function evaluating(name: string, args: readonly string[]): Payload {
  const scripts = name === "trap" ? args : [args.join(" ")];
  return {
    commands: [],
    scripts,
    guesses: [],
    doubt: { kind: "builtin", text: `uses ${name}, which runs its words as commands` },
  };
}

function wrapping(name: string, args: readonly string[]): Payload {
  return {
    commands: args.slice(0, MAX_SUFFIXES).map((_word, index) => ({ words: args.slice(index) })),
    scripts: SHELLS.has(name) ? args : [],
    guesses: SHELLS.has(name) ? [] : args.filter((word) => /\s/.test(word)),
    doubt: { kind: "wrapper", text: `uses ${name}, which runs another program` },
  };
}
