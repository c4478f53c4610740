import { Command, CommanderError, Option } from "commander";
import manifest from "../package.json" with { type: "json" };
import {
  assertNamesSomething,
  DATA_DIRECTORY,
  type Done,
  EXIT_CODES,
  imageOption,
  JSON_EVENTS,
  positiveNumber,
  withAgent,
  withApproval,
  withConnection,
  withSession,
} from "./command-options.ts";
import { UsageError } from "./errors.ts";
import { ExitCode } from "./exit-code.ts";
import { type Io, writeLine } from "./io.ts";
import { visible } from "./render/style.ts";
import { addServerCommands } from "./server-commands.ts";
import { TASK_STATES } from "./task-states.ts";

/**
 * Runs a command line and returns its exit code. Each command's code is loaded
 * only when it is run.
 */
export async function runProgram(
  argv: readonly string[],
  io: Io,
): Promise<number> {
  let exitCode: number = ExitCode.OK;
  const program = buildProgram(io, (code) => {
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
    writeLine(
      io.stderr,
      `devtool: ${visible(userMessage(reason)).replaceAll("\n", "\n  │ ")}`,
    );
    return reason instanceof UsageError ? ExitCode.USAGE : ExitCode.FAILED;
  }
}

const TASK_ID = "id of the task, or its first 4 or more characters";
const TITLE = "the new title: one line of at most 80 characters";

function buildProgram(io: Io, done: Done): Command {
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
  program.commandsGroup("Use an agent:");
  for (const add of [addRun, addChat, addAcp, addSlashCommands, addTasks]) {
    add(program, io, done);
  }
  program.commandsGroup("Run a server:");
  addServerCommands(program, io, done);
  program.commandsGroup("Test:");
  addConformance(program, io, done);
  return program;
}

function addRun(program: Command, io: Io, done: Done): void {
  withConnection(withApproval(withSession(program.command("run [prompt]"))))
    .description(
      'Give an agent a task and follow it until it ends; without a prompt, or with "-", read it from standard input',
    )
    .option("--prompt-file <file>", "read the prompt from a file")
    .addOption(imageOption())
    .option(
      "--workspace <dir>",
      "directory to work in (default: current directory; with --url or --task the server's)",
    )
    .option("--task <id>", `continue a task: ${TASK_ID}`)
    .option(
      "--output-last-message <file>",
      "write the agent's last message to a file",
    )
    .option("--json", JSON_EVENTS)
    .addHelpText("after", EXIT_CODES)
    .action(async (prompt, options) =>
      done(await (await import("./command/run.ts")).run(prompt, options, io)),
    );
}

function addChat(program: Command, io: Io, done: Done): void {
  withConnection(withApproval(withSession(program.command("chat"))))
    .description("Chat with an agent")
    .option("--workspace <dir>", "directory to work in (default: the server's)")
    .addOption(
      new Option(
        "-c, --continue",
        "continue the last conversation in the workspace",
      ).conflicts("task"),
    )
    .option("--task <id>", `continue a task: ${TASK_ID}`)
    .action(async (options) =>
      done(await (await import("./command/chat.ts")).chat(options, io)),
    );
}

function addAcp(program: Command, io: Io, done: Done): void {
  program
    .command("acp")
    .description(
      "Run as an Agent Client Protocol (ACP) agent for an editor, over standard input and output",
    )
    .option(
      "--workspace <dir>",
      "directory to work in (default: the editor's; with --url the server's)",
    )
    .option(
      "--agent <name...>",
      "agents that the editor offers to choose from, on a server with several (default: all)",
    )
    .option("--model <name...>", "models that the editor offers to choose from")
    .option(
      "--url <url>",
      "server or A2A agent (default: the running server, or one for this editor)",
    )
    .option(
      "--token <token>",
      "bearer token (default: $DEVTOOL_TOKEN, or the running server's)",
    )
    .option("--data <dir>", DATA_DIRECTORY)
    .addOption(
      new Option(
        "--protocol <name>",
        "protocol to speak (default: connect; with --url a2a)",
      ).choices(["connect", "grpc", "a2a"]),
    )
    .action(async (options) =>
      done(await (await import("./command/acp.ts")).acp(options, io)),
    );
}

function addTasks(program: Command, io: Io, done: Done): void {
  withConnection(program.command("tasks"))
    .description(
      "List tasks, newest first: id, state, time of the last change, title",
    )
    .addOption(
      new Option("--state <state>", "only tasks in this state").choices(
        TASK_STATES,
      ),
    )
    .option("--agent <name>", "only tasks of this agent")
    .option("--workspace <dir>", "only tasks in this directory")
    .option("--title <text>", "only tasks whose title contains this text")
    .addOption(
      new Option(
        "--limit <number>",
        "list at most this many tasks (default: all)",
      ).argParser(positiveNumber),
    )
    .option("--json", "print each task as a line of JSON")
    .action(async (options) =>
      done(await (await import("./command/tasks.ts")).tasks(options, io)),
    );
  withConnection(program.command("watch").argument("<task>", TASK_ID))
    .description("Follow a task from its first event")
    .option("--json", JSON_EVENTS)
    .action(async (task, options) =>
      done(await (await import("./command/watch.ts")).watch(task, options, io)),
    );
  withConnection(
    program
      .command("rename")
      .argument("<task>", TASK_ID)
      .argument("<title>", TITLE),
  )
    .description("Rename a task")
    .action(async (task, title, options) =>
      done(
        await (await import("./command/tasks.ts")).rename(
          task,
          title,
          options,
          io,
        ),
      ),
    );
  withConnection(program.command("cancel").argument("<task>", TASK_ID))
    .description("Cancel a task")
    .action(async (task, options) =>
      done(
        await (await import("./command/tasks.ts")).cancel(task, options, io),
      ),
    );
}

function addSlashCommands(program: Command, io: Io, done: Done): void {
  withConnection(
    withApproval(withAgent(program.command("exec <command> [args...]"))),
  )
    .description("Run a slash command, for example: devtool exec /shell ls -la")
    .usage("[options] <command> [args...]")
    .passThroughOptions()
    .option(
      "--workspace <dir>",
      "directory to run it in (default: the server's)",
    )
    .option("--json", JSON_EVENTS)
    .addHelpText(
      "after",
      `\nOptions must come before the slash command.\n${EXIT_CODES}`,
    )
    .action(async (command, args, options) =>
      done(
        await (await import("./command/slash-commands.ts")).exec(
          [command, ...args],
          options,
          io,
        ),
      ),
    );
  withConnection(withAgent(program.command("commands")))
    .description("List the slash commands of an agent")
    .option(
      "--workspace <dir>",
      "list those for this directory (default: the server's)",
    )
    .action(async (options) =>
      done(
        await (await import("./command/slash-commands.ts")).commands(
          options,
          io,
        ),
      ),
    );
}

function addConformance(program: Command, io: Io, done: Done): void {
  const notForPrograms = [
    "push",
    "token",
    "data",
    "a2a",
    "binding",
    "prompts",
    "only",
  ];
  program
    .command("conformance [url]")
    .description(
      "Test an A2A 0.3 or 1.0 server, or a client or codec in any language",
    )
    .addOption(
      new Option(
        "--program <file>",
        "test a client or codec: the program that this binding.json names",
      ).conflicts(notForPrograms),
    )
    .option(
      "--push <host:port>",
      "also test push notifications, received at this address",
    )
    .option("--token <token>", "bearer token")
    .option("--data <dir>", DATA_DIRECTORY)
    .addOption(
      new Option(
        "--a2a <version>",
        "A2A version (default: the card's first)",
      ).choices(["0.3", "1.0"]),
    )
    .addOption(
      new Option(
        "--binding <name>",
        "protocol binding (default: the card's first)",
      ).choices(["JSONRPC", "HTTP+JSON", "GRPC"]),
    )
    .option(
      "--prompts <file>",
      "JSON file with the prompt for each behavior (default: the coding agent's)",
    )
    .option(
      "--only <prefix>",
      "run only the cases whose id starts with this prefix, such as a2a/",
    )
    .option(
      "--known-failing <file>",
      "JSON file of cases that may fail, with reasons; it is an error if one of them passes",
    )
    .option("--report-html <file>", "write an HTML report")
    .option("--report-junit <file>", "write a JUnit XML report")
    .option("--report-json <file>", "write a JSON report")
    .option("--json", "print each result as a line of JSON")
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
