import { addKitOptions } from "@devtool/conformance/operator";
import { Argument, Command, CommanderError } from "commander";
import manifest from "../package.json" with { type: "json" };
import { AGENT_COMMANDS } from "./agents/agent-commands.ts";
import {
  assertNamesSomething,
  type CommandSet,
  DATA_DIRECTORY,
  type Done,
  EXIT_CODES,
} from "./command-options.ts";
import type { CommandRow } from "./command-table.ts";
import { UsageError } from "./errors.ts";
import { ExitCode } from "./exit-code.ts";
import { type Io, writeLine } from "./io.ts";
import { SERVER_COMMANDS } from "./server-commands.ts";

/**
 * Runs a command line and returns its exit code. Each command's code is loaded
 * only when it is run.
 */
export async function runProgram(
  argv: readonly string[],
  io: Io,
): Promise<number> {
  let exitCode: number = ExitCode.OK;
  const [name = ""] = argv;
  const program = buildProgram(name, io, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (reason) {
    if (reason instanceof CommanderError) {
      return reason.exitCode === 0 ? ExitCode.OK : ExitCode.USAGE;
    }
    const { isAbort, userMessage } = await import("./error-text.ts");
    if (isAbort(reason)) return ExitCode.CANCELED;
    const { visible } = await import("./render/style.ts");
    writeLine(
      io.stderr,
      `devtool: ${visible(userMessage(reason)).replaceAll("\n", "\n  │ ")}`,
    );
    return reason instanceof UsageError ? ExitCode.USAGE : ExitCode.FAILED;
  }
}

/**
 * Builds the parser of a command line that begins with `name`. When that is a
 * command, it has only this one.
 */
function buildProgram(name: string, io: Io, done: Done): Command {
  const program = new Command("devtool")
    .description("Serve, use and test coding agents over Agent2Agent (A2A).")
    .version(manifest.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print help for a command")
    .enablePositionalOptions()
    .addHelpText("after", EXIT_CODES)
    .exitOverride()
    .hook("preAction", (_program, command) =>
      assertNamesSomething(command.opts()),
    )
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    });
  const all = GROUPS.flatMap(({ sets }) => sets);
  // To describe the options of all commands takes as long as some commands do.
  const named = all.find(({ names }) => names.includes(name));
  for (const { title, sets } of GROUPS) {
    program.commandsGroup(title);
    for (const set of sets) {
      if (named === undefined || named === set) set.add(program, io, done);
    }
  }
  return program;
}

/** All commands, under the headings of the help. */
const GROUPS: readonly {
  readonly title: string;
  readonly sets: readonly CommandSet[];
}[] = [
  { title: "Use an agent:", sets: AGENT_COMMANDS },
  { title: "Run a server:", sets: SERVER_COMMANDS },
  { title: "Test:", sets: [{ names: ["conformance"], add: addConformance }] },
  {
    title: "Install:",
    sets: [
      { names: ["completion"], add: addCompletion },
      { names: ["man"], add: addMan },
      { names: ["upgrade"], add: addUpgrade },
    ],
  },
];

/** Returns the table of all commands, from which texts about them are made. */
async function tableOf(io: Io): Promise<readonly CommandRow[]> {
  const { commandTable } = await import("./command-table.ts");
  return commandTable(buildProgram("", io, () => undefined));
}

function addCompletion(program: Command, io: Io, done: Done): void {
  program
    .command("completion")
    .description("Print what makes a shell complete the words of devtool")
    .addArgument(
      new Argument("<shell>", "shell to print it for").choices([
        "bash",
        "zsh",
        "fish",
      ]),
    )
    .action(async (shell) => {
      const { completionScript } = await import(
        "./command/completion-script.ts"
      );
      io.stdout.write(completionScript(shell, await tableOf(io)));
      done(ExitCode.OK);
    });
}

function addMan(program: Command, io: Io, done: Done): void {
  program
    .command("man")
    .description("Print the manual page, for man(1)")
    .action(async () => {
      const { manualPage } = await import("./command/manual-page.ts");
      io.stdout.write(manualPage(await tableOf(io), manifest.version));
      done(ExitCode.OK);
    });
}

function addUpgrade(program: Command, io: Io, done: Done): void {
  program
    .command("upgrade")
    .description("Ask npm's registry for a newer version; installs nothing")
    .requiredOption("--check", "ask the registry")
    .action(async () => {
      const { checkUpgrade } = await import("./command/upgrade.ts");
      done(await checkUpgrade(manifest.version, io));
    });
}

function addConformance(program: Command, io: Io, done: Done): void {
  addKitOptions(program.command("conformance [url]"))
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (url, options) =>
      done(
        await (await import("./command/conformance.ts")).conformance(
          url,
          options,
          io,
        ),
      ),
    );
}
