import { posix } from "node:path";

/**
 * Programs with a language of their own, which evaluate what they are given,
 * with their versions and builds: `jruby`, `python3.13t`, `php-cgi`.
 */
const INTERPRETER =
  /^((i|micro)?python|jython|pypy|sage|node(js)?|tsx|esno|zx|(ts|babel|swc|vite|esbuild)-node|coffee|perl|raku|(j|m|mac|truffle)?ruby|php|luau?|luajit|tclsh|wish|Rscript|R|julia|runghc|runhaskell|groovy(sh)?|scala|kotlinc?|jrunscript|clojure|clj|bb|elixir|iex|erl|osascript|swift|powershell|pwsh|nu|xonsh|elvish|racket|guile|scheme|sbcl|clisp|ecl|ccl|ocaml|fsi)w?([\d.]+[a-z]{0,2})?(-(dbg|debug|cgi|cli|repl|c|jvm|jit|dev|static|nightly|nogil|intel64|arm64))?$/;
/** The same, with commands: `deno eval`, `rails runner`. */
const RUNTIME =
  /^(deno|bun|uv|crystal|mix|rails|flask|django-admin|manage\.py|artisan)$/;
const SHELL = /^(ba|da|a|z|k|fi|c|tc)?sh$/;
/** The flags, and commands of runtimes, that take code. */
const INLINE_CODE =
  /^(-\w*[ceEprRB]|-[bdIOPqsSuvx]*i[bdIOPqsSuvx]*$|-Command|-[mM]\S*[;(]|--(eval|print|command|execute|run|interactive)\b)|(^|=)data:/;
const RUNTIME_CODE =
  /^(-pe|-[ep]|--(eval|print|execute)\b.*|eval|repl|runner|shell|tinker|console|[cr])$/;
/** The modules of Python that evaluate their words or their input. */
const CODE_MODULE = /^(timeit|code|asyncio|IPython|idlelib|pdb)\b/;
/** A flag of any program with code, and its value if that is in its word. */
const CODE_FLAG = /^(?:--?(?:eval|exec|execute|command)(?:=|$)|-[cex]=?)(.*)$/s;
/** What code has, and names, paths and settings have not. */
const CODE_CHARACTER = /[()[\]{};'"`\\|<>!#&^%]/;
/** A variable for a container, or a path with extras: `A={}`, `.[dev]`. */
const SETTING = /^\w+=|^[\w./~-]*\[[\w,-]*\]$/;
/** Programs in which such a flag never takes code that readers do not see. */
const OTHER_FLAGS = /^(git|g?zip|tox)$/;
/** The flags with which an interpreter without a file reads no code. */
const READS_NO_CODE = /^(--(version|help|test|check)|-[vVh])$/;
/** The flags whose next word is their value, and no file with code. */
const WITH_VALUE =
  /^(\w*py\w+[\d.]* -[WX]|(perl|ruby)[\d.]* -I|php[\d.]* -[dcz]|lua\w* -l|(node|nodejs|tsx|ts-node) (-r|--(require|import|loader|experimental-loader|title|env-file|conditions)))$/;
/** Other names of the standard input, as `/proc/self/fd/0`. */
const INPUT = /^-$|(^|\/)(stdin|fd\/\d+)$/;
/** Words behind which a program runs the others: `uv run`, `nix shell -c`. */
const RUNNER_WORD = /^(run|exec|foreach|dlx|x|--|--run|--command|-c)$/;
const RUNNER = /^(npx|bunx|pnpx|uvx|pipx|ssh)$/;
/** Programs whose first word names what they tell about or stop. */
const TELLS = /^(man|info|type|whereis|pgrep|pkill|killall|apropos|tldr)$/;
/** Last words that open a shell or a prompt: `rake console`, `poetry shell`. */
const PROMPT = /^(console|repl|shell|tinker|irb|fsi|runghc)$/;
/** Commands that read commands, or type their words into another shell. */
const TYPES =
  /^(wsl|nvm run|tmux .*(-\w{0,9}C{1,2}|send|paste)|(screen|byobu) .*stuff|(kitty|kitten|wezterm|zellij|xdotool) .*(send-text|write|type|key))\b/;
/** Flags that only tell which shell is meant, and flags that start a program. */
const NAMES_SHELL = /shell|lang|type|syntax|format|completion|^-([tls]|ln)$/;
const STARTS_PROGRAM =
  /^--[\w-]*(command|filter|program|exec|rsh|preview|cmd|pre|pager|askpass|wrapper|entrypoint)$/;
/** The maximum number of interpreters among words that are looked into. */
const MAX_STARTS = 64;
/** The characters between the words of commands in a text for a shell. */
export const BETWEEN_WORDS: RegExp = /[\s=;&|(){}`]+/;

/** Returns whether a program is one that evaluates code. */
export function isInterpreter(name: string): boolean {
  return INTERPRETER.test(name) || RUNTIME.test(name);
}

/** Returns whether a word of a command line names what evaluates its input. */
export function readsCode(word: string): boolean {
  const name = posix.basename(word);
  return /^(\.|source)$/.test(word) || SHELL.test(name) || isInterpreter(name);
}

/**
 * Returns whether an interpreter takes code from its words or its input. The
 * words behind its file, the first one that neither is a flag nor follows one,
 * are for that file.
 */
export function takesCode(name: string, args: readonly string[]): boolean {
  if (RUNTIME.test(name)) return args.length === 0 || isGivenCode(name, args);
  const readsInput = args.every(
    (word, at) =>
      word === "" || isFlag(word) || isValue(name, word, args[at - 1]),
  );
  return isGivenCode(name, args) || (readsInput && !endsBefore(args));
}

/** Whether a flag ends an interpreter before it reads its input. */
function endsBefore(args: readonly string[]): boolean {
  return args.some(
    (word, at) =>
      READS_NO_CODE.test(word) && !/^-\w+$/.test(args[at - 1] ?? ""),
  );
}

/**
 * Whether a word is the value of the flag in front of it: of one that is known
 * to have a value, or where the word does not look like a file with code.
 */
function isValue(name: string, word: string, flag = ""): boolean {
  if (WITH_VALUE.test(`${name} ${flag}`)) return true;
  return isFlag(flag) && !/^-\w*m$/.test(flag) && !/\.[a-z]\w*$/i.test(word);
}

/**
 * Returns whether a program that may run its words starts an interpreter with
 * code by them: `uv run python -c`, `tmux new 'node -e'`, `docker exec -i c sh`.
 */
export function startsInterpreter(
  program: string,
  args: readonly string[],
): boolean {
  const words = args
    .flatMap((word) => word.replaceAll(/['"\\]/g, "").split(BETWEEN_WORDS))
    .filter((word) => word !== "");
  const isRunner =
    RUNNER.test(program) || words.some((word) => RUNNER_WORD.test(word));
  const isTyped =
    TYPES.test([program, ...args].join(" ")) || PROMPT.test(args.at(-1) ?? "");
  const own = isInterpreter(program) ? ownWords(args) : args;
  if (isTyped || hasCodeFlag(program, own) || hasProgramFlag(args)) return true;
  const starts = [...words.entries()].filter(([, word]) => {
    const name = posix.basename(word);
    return isInterpreter(name) || SHELL.test(name);
  });
  if (starts.length > MAX_STARTS) return true;
  return starts.some(([at, word]) => {
    const name = posix.basename(word);
    const behind = words.slice(at + 1);
    if (isInterpreter(name) && isGivenCode(name, behind)) return true;
    const isRun = isRunner || (at === 0 && !TELLS.test(program));
    return (
      isRun &&
      behind.every(isFlag) &&
      (SHELL.test(name) || (INTERPRETER.test(name) && !endsBefore(behind)))
    );
  });
}

/**
 * Whether a flag for code has a value that looks like it, whatever program it
 * is for: `newlang -e 'f("r" .. "m")'`.
 */
function hasCodeFlag(program: string, args: readonly string[]): boolean {
  if (OTHER_FLAGS.test(program)) return false;
  return args.some((word, at) => {
    const [, inWord] = CODE_FLAG.exec(word) ?? [];
    const value = inWord === "" ? args[at + 1] : inWord;
    return (
      value !== undefined && CODE_CHARACTER.test(value) && !SETTING.test(value)
    );
  });
}

/**
 * Whether a flag starts a shell or an interpreter, which then reads what the
 * program gives it: `split --filter=sh`, `tar -I bash`.
 */
export function hasProgramFlag(args: readonly string[]): boolean {
  return args.some((word, at) => {
    const [, flag = word, joined = ""] =
      /^(--[\w-]+)=(.*)$/s.exec(word) ?? /^(-\w)(\w+)$/.exec(word) ?? [];
    const next = isFlag(word) ? (args[at + 1] ?? "") : "";
    return isProgramOf(flag, joined) || isProgramOf(word, next);
  });
}

/** Whether a flag starts its value, which is a shell or an interpreter. */
function isProgramOf(flag: string, value: string): boolean {
  const words = value.replaceAll(/['"]/g, "").split(/\s+/);
  // What is behind a program, such as `exec` or `env`, counts where the flag is
  // known to start one.
  const at = STARTS_PROGRAM.test(flag)
    ? words.findLastIndex((word) => !isFlag(word))
    : 0;
  const name = posix.basename(words[at] ?? "");
  if (!words.slice(at + 1).every(isFlag)) return false;
  if (at > 0 && isInput(words[at])) return true;
  if (SHELL.test(name)) return !NAMES_SHELL.test(flag);
  return STARTS_PROGRAM.test(flag) && isInterpreter(name);
}

/** Whether words give an interpreter code, or have it read its input. */
function isGivenCode(name: string, args: readonly string[]): boolean {
  const own = ownWords(args);
  if (RUNTIME.test(name)) {
    const words =
      own.at(-1) === "run"
        ? [...own, ...ownWords(args.slice(own.length))]
        : own;
    if (name === "uv") {
      const behind = args.slice(args.indexOf("run") + 1);
      const words = ownWords(behind);
      const isCode = words.includes("-c") || namesCodeModule(words);
      return args.includes("run") && (isCode || isInput(words.at(-1)));
    }
    const isCode = (word: string): boolean => RUNTIME_CODE.test(word);
    return words.some((word) => isCode(word) || isInput(word));
  }
  return (
    namesCodeModule(own) ||
    isInput(own.at(-1)) ||
    own.some((word, at) =>
      isFlag(word) || isFlag(own[at - 1]) ? INLINE_CODE.test(word) : false,
    )
  );
}

function namesCodeModule(own: readonly string[]): boolean {
  return own.some((word, at) =>
    /^-\w*m$/.test(word)
      ? CODE_MODULE.test(own[at + 1] ?? "")
      : word.startsWith("-m") && CODE_MODULE.test(word.slice(2)),
  );
}

/** Returns the flags in front of a file, what may be their values, and the file. */
export function ownWords(args: readonly string[]): readonly string[] {
  const file = args.findIndex(
    (word, at) => !isFlag(word) && !isFlag(args[at - 1]),
  );
  return file < 0 ? args : args.slice(0, file + 1);
}

function isFlag(word = ""): boolean {
  return /^-./.test(word);
}

function isInput(word = ""): boolean {
  return INPUT.test(posix.normalize(word));
}
