import { Command, CommanderError, Option } from "commander";
import manifest from "../package.json" with { type: "json" };
import {
  approvalModeOption,
  DATA_DIRECTORY,
  EXIT_CODES,
  JSON_EVENTS,
  positiveNumber,
  withApproval,
  withConnection,
  withSession,
} from "./command-options.ts";
import { UsageError } from "./errors.ts";
import { ExitCode } from "./exit-code.ts";
import { type Io, writeLine } from "./io.ts";
import { AGENT_PROGRAMS } from "./known-programs.ts";
import { PROFILES } from "./profile.ts";
import { visible } from "./render/style.ts";
import { TASK_STATES } from "./task-states.ts";

/** Runs a command line and returns its exit code. Each command's code is loaded only when it is run. */
export async function runProgram(argv: readonly string[], io: Io): Promise<number> {
  let exitCode: number = ExitCode.OK;
  const program = buildProgram(io, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (reason) {
    if (reason instanceof CommanderError) return reason.exitCode === 0 ? ExitCode.OK : ExitCode.USAGE;
    const { isAbort, userMessage } = await import("./error-text.ts");
    if (isAbort(reason)) return ExitCode.CANCELED;
    writeLine(io.stderr, `devtool: ${visible(userMessage(reason)).replaceAll("\n", "\n  │ ")}`);
    return reason instanceof UsageError ? ExitCode.USAGE : ExitCode.FAILED;
  }
}

const TASK_ID = "id of the task, or the first 4 or more characters of it";
const TITLE = "the new title: one line of at most 80 characters";
const JOB_LOG = "read this log file, as named by `devtool run`, instead of a server's";

/** Receives the exit code of the command that ran. */
type Done = (exitCode: number) => void;

function buildProgram(io: Io, done: Done): Command {
  const program = new Command("devtool")
    .description("Serve, use and test coding agents over Agent2Agent (A2A).")
    .version(manifest.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [command]", "print help for a command")
    .enablePositionalOptions()
    .addHelpText("after", EXIT_CODES)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
  program.commandsGroup("Use an agent:");
  for (const add of [addRun, addChat, addAcp, addSlashCommands, addTasks]) add(program, io, done);
  program.commandsGroup("Run a server:");
  for (const add of [addServe, addConsole, addTrust, addAudit, addStore, addPush, addDoctor]) add(program, io, done);
  program.commandsGroup("Test:");
  addConformance(program, io, done);
  return program;
}

function addServe(program: Command, io: Io, done: Done): void {
  const command = program
    .command("serve")
    .description("Start a server for a coding agent, or for agents of your own")
    .action(async (options) => done(await (await import("./command/serve.ts")).serve(options, io)));
  command
    .optionsGroup("Agent:")
    .option("--workspace <dir>", "directory the agent works in; created if missing (default: current directory)")
    .option("--root <dir...>", "more directories that clients may choose as workspace")
    .addOption(
      new Option(
        "--agent <[name=]agent>",
        `serve this agent; repeatable, the first is the default. ${AGENT_PROGRAMS.map(({ name }) => name).join(", ")}; acp:COMMAND for another that speaks the Agent Client Protocol; or a module that exports "agent". It runs with your rights (default: "devtool", the coding agent)`,
      )
        .argParser((value: string, others: readonly string[] = []) => [...others, value])
        .conflicts("profile"),
    )
    .option("--model <name>", "the model, for instance openai:gpt-5.5 or anthropic:claude-sonnet-5-5")
    .addOption(approvalModeOption("what the agent may do without asking"))
    .option("--store <url>", "keep tasks in this database, which servers share: postgres://user@host/database")
    .option("--config <file>", "configuration file (default: config.toml in the data directory)")
    .option("--data <dir>", DATA_DIRECTORY);
  addListenOptions(command);
  command
    .optionsGroup("Testing:")
    .addOption(
      new Option("--profile <kit>", "serve the test agent that an A2A test kit expects").choices([...PROFILES]),
    )
    .option("--anonymous", "accept callers without credentials; only with --profile, only on loopback")
    .optionsGroup("Output:")
    .option("--json", "print one line of JSON when the server is ready");
}

/** Adds the options of `serve` for the network and for access. */
function addListenOptions(command: Command): void {
  command
    .optionsGroup("Network:")
    .option("--host <address>", "address to listen on (default: 127.0.0.1)")
    .option("--port <number>", "port to listen on; 0 for any free port (default: 41242)")
    .option("--public-url <url>", "URL that clients use, such as a proxy's (default: the listening address)")
    .option("--tls-ended-by-proxy", "a proxy terminates TLS: allow other machines without TLS here")
    .option("--require-extension", "reject clients that do not support the development-tool extension")
    .option("--push-target <host:port...>", "allow webhooks at this address although it is not public or not HTTPS")
    .optionsGroup("Access:")
    .option("--no-console", "serve no console, the page for web browsers at /console")
    .option("--token-file <file>", "read the bearer token from a file of mode 0600 (default: generated)")
    .option("--rotate-token", "generate a new token; the previous one stops working")
    .option("--allow-host <host...>", "more accepted values of the Host header: name:port, or name for any port")
    .option("--allow-origin <origin...>", "accepted origins of web pages, such as https://app.example");
}

function addConsole(program: Command, io: Io, done: Done): void {
  program
    .command("console")
    .description("Open the console in a web browser: all sessions of the server, and what waits for you")
    .option("--url <url>", "server URL (default: the server running on this data directory)")
    .option("--token <token>", "bearer token (default: $DEVTOOL_TOKEN, or the running server's)")
    .option("--data <dir>", DATA_DIRECTORY)
    .option("--label <text>", "name the browser, for the list of browsers that are let in")
    .option("--no-open", "print the address only")
    .option("--list", "list the browsers that are let in")
    .addOption(new Option("--revoke <id>", "end the session of a browser").conflicts(["list"]))
    .action(async (options) => done(await (await import("./command/console.ts")).openConsole(options, io)));
}

function addRun(program: Command, io: Io, done: Done): void {
  withConnection(withApproval(withSession(program.command("run [prompt]"))))
    .description(
      'Give an agent a task and follow it to its end; without a prompt, or with "-", it is read from standard input',
    )
    .option("--prompt-file <file>", "read the prompt from a file")
    .option("--workspace <dir>", "directory to work in (default: current directory; with --url or --task the server's)")
    .option("--task <id>", `continue a task: ${TASK_ID}`)
    .option("--output-last-message <file>", "write what the agent said last to a file")
    .option("--json", JSON_EVENTS)
    .addHelpText("after", EXIT_CODES)
    .action(async (prompt, options) => done(await (await import("./command/run.ts")).run(prompt, options, io)));
}

function addChat(program: Command, io: Io, done: Done): void {
  withConnection(withApproval(withSession(program.command("chat"))))
    .description("Chat with an agent")
    .option("--workspace <dir>", "directory to work in (default: the server's)")
    .addOption(new Option("-c, --continue", "continue the last conversation in the workspace").conflicts("task"))
    .option("--task <id>", `continue a task: ${TASK_ID}`)
    .action(async (options) => done(await (await import("./command/chat.ts")).chat(options, io)));
}

function addAcp(program: Command, io: Io, done: Done): void {
  program
    .command("acp")
    .description("Be an agent of the Agent Client Protocol for an editor, on standard input and output")
    .option("--workspace <dir>", "directory to work in (default: the editor's; with --url the server's)")
    .option(
      "--agent <name...>",
      "agents that the editor offers to choose from, on a server with several (default: all)",
    )
    .option("--model <name...>", "models that the editor offers to choose from")
    .option(
      "--url <url>",
      "server or A2A agent (default: the server running on this data directory, or one for this editor)",
    )
    .option("--token <token>", "bearer token (default: $DEVTOOL_TOKEN, or the running server's)")
    .option("--data <dir>", DATA_DIRECTORY)
    .addOption(
      new Option("--protocol <name>", "protocol to speak (default: connect; with --url a2a)").choices([
        "connect",
        "grpc",
        "a2a",
      ]),
    )
    .action(async (options) => done(await (await import("./command/acp.ts")).acp(options, io)));
}

function addTasks(program: Command, io: Io, done: Done): void {
  withConnection(program.command("tasks"))
    .description("List tasks, newest first: id, state, time of the last change, title")
    .addOption(new Option("--state <state>", "only tasks in this state").choices(TASK_STATES))
    .option("--agent <name>", "only tasks of this agent")
    .option("--workspace <dir>", "only tasks in this directory")
    .option("--title <text>", "only tasks whose title contains this text")
    .addOption(new Option("--limit <number>", "list at most this many tasks (default: all)").argParser(positiveNumber))
    .option("--json", "print each task as a line of JSON")
    .action(async (options) => done(await (await import("./command/tasks.ts")).tasks(options, io)));
  withConnection(program.command("watch").argument("<task>", TASK_ID))
    .description("Follow a task from its first event")
    .option("--json", JSON_EVENTS)
    .action(async (task, options) => done(await (await import("./command/watch.ts")).watch(task, options, io)));
  withConnection(program.command("rename").argument("<task>", TASK_ID).argument("<title>", TITLE))
    .description("Give a task another title")
    .action(async (task, title, options) =>
      done(await (await import("./command/tasks.ts")).rename(task, title, options, io)),
    );
  withConnection(program.command("cancel").argument("<task>", TASK_ID))
    .description("Cancel a task")
    .action(async (task, options) => done(await (await import("./command/tasks.ts")).cancel(task, options, io)));
}

function addSlashCommands(program: Command, io: Io, done: Done): void {
  withConnection(withApproval(program.command("exec <command> [args...]")))
    .description("Run a slash command, for example: devtool exec /shell ls -la")
    .usage("[options] <command> [args...]")
    .passThroughOptions()
    .option("--json", JSON_EVENTS)
    .addHelpText("after", `\nOptions must come before the slash command.\n${EXIT_CODES}`)
    .action(async (command, args, options) =>
      done(await (await import("./command/slash-commands.ts")).exec([command, ...args], options, io)),
    );
  withConnection(program.command("commands"))
    .description("List the server's slash commands")
    .action(async (options) => done(await (await import("./command/slash-commands.ts")).commands(options, io)));
}

function addDoctor(program: Command, io: Io, done: Done): void {
  program
    .command("doctor")
    .description("Check that this machine can run a server")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (options) => done(await (await import("./command/doctor.ts")).doctor(options, io)));
}

function addConformance(program: Command, io: Io, done: Done): void {
  const notForPrograms = ["push", "token", "data", "a2a", "binding", "prompts", "only"];
  program
    .command("conformance [url]")
    .description("Test an A2A 0.3 or 1.0 server, or a client or codec in any language")
    .addOption(new Option("--program <file>", "test the program of this binding.json").conflicts(notForPrograms))
    .option("--push <host:port>", "also test push notifications, received at this address")
    .option("--token <token>", "bearer token")
    .option("--data <dir>", DATA_DIRECTORY)
    .addOption(new Option("--a2a <version>", "A2A version (default: the card's first)").choices(["0.3", "1.0"]))
    .addOption(
      new Option("--binding <name>", "protocol binding (default: the card's first)").choices([
        "JSONRPC",
        "HTTP+JSON",
        "GRPC",
      ]),
    )
    .option("--prompts <file>", "JSON file with the prompt for each behavior (default: the coding agent's)")
    .option("--only <prefix>", "run only the cases whose id has this prefix, such as a2a/")
    .option("--known-failing <file>", "JSON file of cases that may fail, with reasons; one that passes is an error")
    .option("--report-html <file>", "write an HTML report")
    .option("--report-junit <file>", "write a JUnit XML report")
    .option("--report-json <file>", "write a JSON report")
    .option("--json", "print each result as a line of JSON")
    .action(async (url, options) =>
      done(await (await import("./command/conformance.ts")).conformance(url, options, io)),
    );
}

function addAudit(program: Command, io: Io, done: Done): void {
  const audit = program.command("audit").description("Verify or export the audit log of tool calls");
  withConnection(audit.command("verify"))
    .description("Check that no record was changed, moved or removed")
    .option("--head <hash>", "hash printed by an earlier check, which must still be in the log")
    .option("--log <file>", JOB_LOG)
    .action(async (options) => done(await (await import("./command/audit.ts")).verify(options, io)));
  withConnection(audit.command("export"))
    .description("Print each record as a line of JSON")
    .option("--log <file>", JOB_LOG)
    .action(async (options) => done(await (await import("./command/audit.ts")).exportAudit(options, io)));
}

function addStore(program: Command, io: Io, done: Done): void {
  program
    .command("store")
    .description("Move the log of tasks between stores")
    .command("copy <from> <to>")
    .description(
      "Copy all tasks and the audit log into an empty store, and verify the copy; a store is a data directory or a postgres:// URL",
    )
    .option("--schema <name>", "schema of the database (default: devtool)")
    .action(async (from, to, options) => done(await (await import("./command/store.ts")).copy(from, to, options, io)));
}

function addTrust(program: Command, io: Io, done: Done): void {
  const trust = program.command("trust").description("Manage whose configuration agents may use");
  const load = () => import("./command/trust.ts");
  trust
    .command("add [dir]")
    .description("Show a directory's configuration and trust it (default: current directory)")
    .option("--data <dir>", DATA_DIRECTORY)
    .option("-y, --yes", "do not ask for confirmation")
    .action(async (dir = ".", options) => done(await (await load()).trustAdd(dir, options, io)));
  trust
    .command("list")
    .description("List trusted directories")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (options) => done(await (await load()).trustList(options, io)));
  trust
    .command("remove [dir]")
    .description("Stop trusting a directory (default: current directory)")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (dir = ".", options) => done(await (await load()).trustRemove(dir, options, io)));
}

function addPush(program: Command, io: Io, done: Done): void {
  const push = program.command("push").description("Receive push notifications");
  withConnection(push.command("listen"))
    .description("Listen on loopback, verify the notifications that arrive, and print them")
    .option(
      "--port <number>",
      "port to listen on, which the server must allow (serve --push-target 127.0.0.1:8088); 0 for any free port",
      "8088",
    )
    .option("--task <id>", "subscribe to this task's events while listening")
    .option("--json", JSON_EVENTS)
    .action(async (options) => done(await (await import("./command/push.ts")).pushListen(options, io)));
}
