import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { expect } from "vitest";
import { Tmux } from "../terminal/tmux.ts";
import type { PackedProject } from "./project.ts";

/**
 * A code block of a page that a reader is meant to follow:
 * `<!-- step: KIND ARGUMENT -->` stands above it, other comments may follow.
 */
interface Step {
  readonly kind: string;
  /** The name of the file, for the kind `file`. */
  readonly argument: string;
  readonly text: string;
}

/** Reads the steps of a page below docs/. */
async function stepsOf(page: string): Promise<Step[]> {
  const text = await readFile(
    new URL(`../../docs/${page}`, import.meta.url),
    "utf8",
  );
  const blocks = text.matchAll(
    /^<!-- step: (\w+) ?(.*?) -->\n(?:<!-- .* -->\n)*```\w*\n([\s\S]*?)^```$/gm,
  );
  return [...blocks].map(([, kind = "", argument = "", text = ""]) => ({
    kind,
    argument,
    text,
  }));
}

/**
 * Follows a page literally, in a directory of a project where the packages are
 * installed: writes the files, runs the commands in one shell, keeps servers
 * running, types at a terminal, and compares what is shown.
 */
export async function followPage(
  project: PackedProject,
  page: string,
): Promise<void> {
  const directory = join(project.directory, page.replace(".md", ""));
  await mkdir(directory);
  // A reader has them in the directory that they work in.
  await symlink(
    join(project.directory, "node_modules"),
    join(directory, "node_modules"),
  );
  await using shell = new Shell(project, directory);
  let output = "";
  for (const { kind, argument, text } of await stepsOf(page)) {
    switch (kind) {
      case "install":
        expect(missingPackages(project, text), text).toEqual([]);
        break;
      case "file":
        await writeFile(join(directory, argument), text);
        break;
      case "serve":
        await shell.serve(text);
        break;
      case "run":
        output = await shell.run(text);
        break;
      case "chat":
        await shell.chat(text);
        break;
      case "shows":
        expect(output).toMatch(shownPattern(text));
        break;
      default:
        throw new Error(
          `page "${page}" has a step of the kind "${kind}": choose install, file, serve, run, chat or shows`,
        );
    }
  }
}

/**
 * Our packages that an install line names and that are not in the project, and
 * others that have another version.
 */
function missingPackages(project: PackedProject, text: string): string[] {
  const tarballs = [
    ...text.matchAll(/devtool-(?:\{([\w,-]+)\}|([\w-]+?))-\d+\.\d+\.\d+\.tgz/g),
  ];
  const ours = tarballs.flatMap(
    ([, several, one = ""]) => several?.split(",") ?? [one],
  );
  const others = [
    ...text.matchAll(/(@connectrpc\/connect-node)@([\d.]+)/g),
  ].map(([, name]) => name ?? "");
  expect(ours.length + others.length, text).toBeGreaterThan(0);
  const names = [...ours.map((name) => `@devtool/${name}`), ...others];
  return names.filter(
    (name) => !existsSync(join(project.directory, "node_modules", name)),
  );
}

/**
 * A pattern for a text that is shown, in which `…` stands for anything on its
 * line.
 */
function shownPattern(text: string): RegExp {
  return new RegExp(`^${escaped(text.trimEnd())}\\n*$`);
}

/**
 * A pattern for a transcript of a terminal, in which a line with nothing but
 * `…` stands for any lines. After a command, npm may warn about settings of the
 * machine.
 */
function transcriptPattern(transcript: string): RegExp {
  const text = transcript.trimEnd();
  const lines = text === "" ? [] : text.split("\n").map(linePattern);
  return new RegExp(`^${lines.join("")}`, "m");
}

function linePattern(line: string): string {
  if (line.trim() === "…") return "(?:.*\\n)*?";
  return line.startsWith("$ ")
    ? `${escaped(line)}\\n(?:npm warn .*\\n)*`
    : `${escaped(line)}\\n`;
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("…", ".*");
}

/** A shell of a reader: what one command exports, the next one has. */
class Shell implements AsyncDisposable {
  readonly #directory: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #shell: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  readonly #servers: ChildProcessByStdio<null, Readable, null>[] = [];
  #terminal: Tmux | undefined;

  constructor(project: PackedProject, directory: string) {
    this.#directory = directory;
    const { PATH = "" } = process.env;
    const path = [
      join(project.directory, "node_modules/.bin"),
      dirname(process.execPath),
      PATH,
    ];
    this.#environment = project.environment({
      PATH: path.join(delimiter),
      FORCE_COLOR: "0",
    });
    this.#shell = spawn("bash", ["--norc"], {
      cwd: directory,
      env: this.#environment,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#shell.stdout })[
      Symbol.asyncIterator
    ]();
  }

  /**
   * Runs commands and returns what they print. Throws when the last one fails.
   */
  async run(commands: string): Promise<string> {
    const mark = `-- ${crypto.randomUUID()}`;
    this.#shell.stdin.write(`${commands}\nprintf '\\n%s %s\\n' '${mark}' $?\n`);
    const printed: string[] = [];
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`the shell ended in ${commands}`);
      if (!value.startsWith(mark)) {
        printed.push(value);
        continue;
      }
      expect(value, `${commands}\n${printed.join("\n")}`).toBe(`${mark} 0`);
      return printed.join("\n");
    }
  }

  /**
   * Starts a server as the page does, at a free port, and waits until it says
   * where it is.
   */
  async serve(command: string): Promise<void> {
    const args = [
      "--norc",
      "-c",
      `exec ${command.trim().replace(/^npx --no /, "")} --port 0`,
    ];
    const server = spawn("bash", args, {
      cwd: this.#directory,
      env: this.#environment,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#servers.push(server);
    await once(server.stdout, "data");
    server.stdout.resume();
  }

  /**
   * Types what a transcript has behind its prompts, each time when the terminal
   * shows what stands before the prompt, and waits until it shows the rest. An
   * answer to a question takes the place of the question's menu.
   */
  async chat(transcript: string): Promise<void> {
    const { PATH = "", HOME = "" } = this.#environment;
    this.#terminal ??= await Tmux.open({
      env: { PATH, HOME, TERM: "xterm" },
      columns: 160,
      directory: this.#directory,
    });
    let from = 0;
    for (const {
      0: line,
      1: prompt = "",
      2: typed = "",
      index,
    } of transcript.matchAll(/^(\$|choose >|>) (.+)$/gm)) {
      const before = transcriptPattern(transcript.slice(from, index)).source;
      await this.#terminal.shows(
        new RegExp(`${before}${escaped(prompt)}\\n*$(?![^])`, "m"),
      );
      await this.#terminal.type(typed, "Enter");
      from = prompt === "choose >" ? index + line.length + 1 : index;
    }
    await this.#terminal.shows(transcriptPattern(transcript.slice(from)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#terminal?.[Symbol.asyncDispose]();
    this.#shell.kill("SIGKILL");
    for (const server of this.#servers) {
      const gone = once(server, "exit");
      if (server.exitCode === null && server.kill("SIGTERM")) await gone;
    }
  }
}
