import { posix } from "node:path";
import { readGitCommand } from "./git-options.ts";
import { isInterpreter, ownWords } from "./interpreters.ts";

/** Programs whose input is data, whatever their words are. */
const READERS: ReadonlySet<string> = new Set(
  (
    "sort gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd unzstd zstdcat lz4 brotli tar cpio base64 base32 xxd " +
    "hexdump hd od column paste fold fmt pr rev tac shuf split csplit iconv expand unexpand join numfmt strings cksum sum " +
    "b2sum sha1sum sha224sum sha384sum sha512sum shasum md5 bc yq gron bat batcat delta diffstat patch pandoc rg ag ack " +
    "zgrep fzf ts pv sponge pbcopy xclip xsel wl-copy wget http xh rsync clang-format shfmt shellcheck stylua " +
    "hadolint yamllint xmllint tidy dot protoc envsubst unix2dos dos2unix csvcut csvlook csvstat csvjson look tsort factor " +
    "cc gcc g++ clang clang++ as nm c++filt addr2line gojq dasel htmlq pup logger"
  ).split(" "),
);
/** Commands whose input is data, as their first words. */
const COMMANDS =
  /^((docker|podman|nerdctl) (load|import|login|secret|config)|(kubectl|oc) (-\S+ \S+ )?(apply|create|replace|diff|delete)|(gh|glab) (api|issue|pr|mr|release|gist|secret|variable|auth)|terraform fmt|npm (login|run|start|test)|(npx|bunx|pnpx|uvx) (prettier|eslint|biome|ruff|black|stylelint|shellcheck|yamllint)|openssl \w+|jj describe|hg (import|commit)|(go|cargo|dotnet|zig|swift|stack|cabal) run|java (-\S+ )*\w\S*)( |$)/;
/** Commands of git, other than those that start nothing, with data as input. */
const GIT =
  /^(am|check-attr|column|diff-tree|fast-import|fetch|grep|hash-object|index-pack|interpret-trailers|mailinfo|mktag|mktree|pack-objects|patch-id|stripspace|unpack-objects|update-index|update-ref)$/;
/** Modules of Python that take data. */
const MODULE =
  /^(json(\.tool)?|base64|gzip|zipfile|tarfile|tokenize|ast|calendar|pytest|unittest|black|isort|mypy|ruff|pip|venv|http\.server|markdown)$/;
/** Runtimes that also start programs by name need a file of code. */
const RUNTIME = /^(deno|bun|uv|crystal|mix)$/;
/** Interpreters that read their input behind a file in a flag. */
const PROMPT =
  /^(R|sage|julia|nu|xonsh|elvish|erl|clj|clojure|groovysh|racket|guile|scheme|sbcl|clisp|ecl|ccl)$/;
/** Debuggers and prompts of interpreters that have a file. */
const DEBUGGER =
  /^(perl\S* (\S+ )*-d|node(js)? (inspect|debug) |php\S* (\S+ )*-a )/;
/** Directories with programs that were installed. */
const INSTALLED = /(^|\/)(\.[^/.][^/]*|node_modules|vendor|venv)\//;

/**
 * Returns whether a command that may run its words is known to take its input
 * as data. Any other one may read code from it.
 *
 * A program of the workspace is like a script there: what it does with an input
 * is in the program.
 */
export function readsData([program = "", ...args]: readonly string[]): boolean {
  const name = posix.basename(program);
  if (READERS.has(name)) return true;
  if (RUNTIME.test(name)) {
    const file = args.slice(args.indexOf("run") + 1).find(isNoFlag);
    return /\w\.\w+$/.test(file ?? "");
  }
  if (isInterpreter(name)) return !staysOpen(name, args);
  if (name === "git") {
    return GIT.test(readGitCommand([name, ...args]).words[1] ?? "");
  }
  const isOurs = program.includes("/") && !program.startsWith("/");
  if (isOurs) return !INSTALLED.test(program);
  return COMMANDS.test([name, ...args].join(" "));
}

/** Whether an interpreter may read code behind the file that it is given. */
function staysOpen(name: string, args: readonly string[]): boolean {
  if (name === "iex" || (PROMPT.test(name) && !isNoFlag(args[0]))) return true;
  const own = ownWords(args);
  if (DEBUGGER.test([name, ...own, ""].join(" "))) return true;
  return own.some((word, at) => {
    const [, module] = /^-[bBdEIOPqRsSuvx]*m(.*)$/.exec(word) ?? [];
    return module !== undefined && !MODULE.test(module || (own[at + 1] ?? ""));
  });
}

function isNoFlag(word = ""): boolean {
  return !word.startsWith("-");
}
