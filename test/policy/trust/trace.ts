import { join } from "node:path";
import { REPOSITORIES } from "./repositories.ts";

/** The actions of a traced process that concern the repositories. */
export interface Traced {
  /**
   * The paths in repositories that it opened or tried to open; the
   * repositories' own directories do not count.
   */
  readonly opened: readonly string[];
  /** The programs that it started. */
  readonly started: readonly string[];
  /** How often it opened the control file. */
  readonly controls: number;
}

/**
 * Reads the trace of a process (`strace -f -y -xx`-less, with `open`, `openat`,
 * `openat2`, `execve`). Follows descriptors, so that
 * `/proc/self/fd/9/AGENTS.md` is known for what it is.
 */
export function readTrace(lines: readonly string[], root: string): Traced {
  const directories = REPOSITORIES.map(({ path }) => join(root, path));
  const descriptors = new Map<string, string>();
  const opened: string[] = [];
  const started: string[] = [];
  let controls = 0;
  for (const line of lines) {
    const program = /\bexecve\("([^"]*)"/.exec(line)?.[1];
    if (program !== undefined) started.push(program);
    const call =
      /\bopen(?:at2?)?\((?:[^"]*, )?"((?:[^"\\]|\\.)*)".*\)\s+= (-?\d+)(?:<(.*?)>)?/.exec(
        line,
      );
    if (!call) continue;
    const [, argument = "", result = "", real] = call;
    if (real !== undefined) descriptors.set(result, unescaped(real));
    const path =
      real === undefined
        ? resolved(unescaped(argument), descriptors)
        : unescaped(real);
    if (path === join(root, "control")) controls++;
    if (directories.some((directory) => path.startsWith(`${directory}/`))) {
      opened.push(path);
    }
  }
  return { opened, started, controls };
}

function resolved(
  path: string,
  descriptors: ReadonlyMap<string, string>,
): string {
  return path.replace(
    /^\/proc\/self\/fd\/(\d+)/,
    (whole, fd) => descriptors.get(fd) ?? whole,
  );
}

/** Undoes the escapes of a C string: octal and the usual letters. */
function unescaped(text: string): string {
  const bytes = text.replaceAll(/\\([0-7]{1,3}|.)/g, (_whole, code: string) =>
    /^[0-7]/.test(code)
      ? String.fromCharCode(Number.parseInt(code, 8))
      : (LETTERS.get(code) ?? code),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}

const LETTERS: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["t", "\t"],
  ["r", "\r"],
]);
