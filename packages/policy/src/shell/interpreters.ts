import { posix } from "node:path";

/** Programs with a language of their own, which evaluate what they are given. */
const INTERPRETER =
  /^(python|pypy|ipython|jython|micropython|sage|node|nodejs|tsx|ts-node|babel-node|coffee|perl|raku|ruby|php|lua|luajit|tclsh|wish|Rscript|R|julia|runghc|groovy|scala|kotlin|jrunscript|clojure|clj|bb|elixir|iex|erl|osascript|swift|powershell|nu|xonsh|elvish|racket|guile|sbcl|ocaml)[\d.]*$/;
/** The same, with commands: `deno eval`, `rails runner`. */
const RUNTIME =
  /^(deno|bun|uv|crystal|mix|rails|flask|django-admin|manage\.py|artisan)$/;
const SHELL = /^(ba|da|a|z|k|fi|c|tc)?sh$/;
/** The flags, and commands of runtimes, that take code. */
const INLINE_CODE =
  /^(-\w*[ceEprRB]|-i$|-Command|-[mM]\S*[;(]|--(eval|print|command|execute|run|interactive)\b)|(^|=)data:/;
const RUNTIME_CODE =
  /^(-pe|-[ep]|--(eval|print|execute)\b.*|eval|repl|runner|shell|tinker|console|[cr])$/;
/** The modules of Python that evaluate their words or their input. */
const CODE_MODULE = /^(timeit|code|asyncio|IPython|idlelib)\b/;
/** The flags with which an interpreter without a file reads no code. */
const READS_NO_CODE = /^(--(version|help|test|check)|-[vVh])$/;
/** The flags whose next word is their value, and no file with code. */
const WITH_VALUE =
  /^(\w*py\w+[\d.]* -[WX]|(perl|ruby)[\d.]* -I|php[\d.]* -[dcz]|lua\w* -l|(node|nodejs|tsx|ts-node) (-r|--(require|import|loader|experimental-loader|title|env-file|conditions)))$/;
/** Other names of the standard input, as `/proc/self/fd/0`. */
const INPUT = /^-$|(^|\/)(stdin|fd\/\d+)$/;
/** Words behind which a program runs the others: `uv run`, `docker exec`. */
const RUNNER_WORD = /^(run|exec|dlx|x|--)$/;
const RUNNER = /^(npx|bunx|pnpx|uvx|pipx|ssh)$/;
/** The characters between the words of commands in a text for a shell. */
const BETWEEN_WORDS = /[\s=;&|(){}`]+/;

/** Returns whether a program is one that evaluates code. */
export function isInterpreter(name: string): boolean {
  return INTERPRETER.test(name) || RUNTIME.test(name);
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
      isFlag(word) || WITH_VALUE.test(`${name} ${args[at - 1] ?? ""}`),
  );
  return (
    isGivenCode(name, args) ||
    (readsInput && !args.some((word) => READS_NO_CODE.test(word)))
  );
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
  return words.some((word, at) => {
    const name = posix.basename(word);
    const behind = words.slice(at + 1);
    if (isInterpreter(name) && isGivenCode(name, behind)) return true;
    const readsInput = isRunner && behind.every(isFlag);
    return (
      readsInput &&
      (SHELL.test(name) ||
        (INTERPRETER.test(name) &&
          !behind.some((flag) => READS_NO_CODE.test(flag))))
    );
  });
}

/** Whether words give an interpreter code, or have it read its input. */
function isGivenCode(name: string, args: readonly string[]): boolean {
  const own = ownWords(args);
  if (RUNTIME.test(name)) {
    const words =
      own.at(-1) === "run"
        ? [...own, ...ownWords(args.slice(own.length))]
        : own;
    const isCode = (word: string): boolean =>
      name !== "uv" && RUNTIME_CODE.test(word);
    return words.some((word) => isCode(word) || isInput(word));
  }
  const isModule = own.some((word, at) =>
    /^-\w*m$/.test(word)
      ? CODE_MODULE.test(own[at + 1] ?? "")
      : word.startsWith("-m") && CODE_MODULE.test(word.slice(2)),
  );
  return (
    isModule ||
    isInput(own.at(-1)) ||
    own.some((word, at) =>
      isFlag(word) || isFlag(own[at - 1]) ? INLINE_CODE.test(word) : false,
    )
  );
}

/** Returns the flags in front of a file, what may be their values, and the file. */
function ownWords(args: readonly string[]): readonly string[] {
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
