import { Command, CommanderError, Option } from "commander";
import manifest from "../package.json" with { type: "json" };
import { ExitCode } from "./exit-code.ts";
import { type Io, writeLine } from "./io.ts";
import { PROFILES } from "./profile.ts";
import { visible } from "./render/style.ts";

/** Runs a command line and gives the exit code. Each command is loaded only when it is asked for. */
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
    const { isAbort, reasonOf } = await import("./error-text.ts");
    if (isAbort(reason)) return ExitCode.CANCELED;
    writeLine(io.stderr, `devtool: ${visible(reasonOf(reason)).replaceAll("\n", "\n  │ ")}`);
    return ExitCode.FAILED;
  }
}

/** The ways to answer that `--approve` offers. */
const APPROVALS = ["ask", "never", "all"] as const;
const WITHOUT_SANDBOX = "with --approve all: also run commands again without the sandbox";

/** The exit codes, in the words of the help. */
const EXIT_CODES = `
Exit codes: 0 done, 1 failed, 2 bad command line, 3 nobody could be asked (the task waits for its user, or what it asked
for was declined), 130 canceled, 141 the output was closed before its end`;

/** Takes the exit code of the command that ran. */
type Done = (exitCode: number) => void;

function buildProgram(io: Io, done: Done): Command {
  const program = new Command("devtool")
    .description("The universal port for coding agents: serve one, talk to one, test any.")
    .version(manifest.version)
    .enablePositionalOptions()
    .addHelpText("after", EXIT_CODES)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) });
  for (const add of [
    addServe,
    addRun,
    addChat,
    addWatch,
    addTasks,
    addCancel,
    addCommands,
    addExec,
    addDoctor,
    addConformance,
    addAudit,
    addTrust,
    addPush,
  ]) {
    add(program, io, done);
  }
  return program;
}

function addServe(program: Command, io: Io, done: Done): void {
  program
    .command("serve")
    .description("Run an agent server")
    .option("--workspace <dir>", "where agents work, made when it is missing (default: this directory)")
    .option("--root <dir...>", "directories in which other workspaces may lie")
    .addOption(
      new Option(
        "--agent <[name=]module>",
        'serve the agent that a module exports as "agent", the first as the default; may be given more than once (default: the coding agent, "devtool"). It runs with your rights',
      )
        .argParser((value: string, others: readonly string[] = []) => [...others, value])
        .conflicts("profile"),
    )
    .option("--data <dir>", "where tasks and the discovery file are kept (default: $DEVTOOL_DATA or ~/.devtool)")
    .option("--host <address>", "the address to bind (default: 127.0.0.1)")
    .option("--port <number>", "the port to bind; 0 takes a free one (default: 41242)")
    .option(
      "--public-url <url>",
      "where clients reach the server, for instance behind a proxy (default: where it listens)",
    )
    .option("--tls-ended-by-proxy", "a proxy in front ends TLS, so other machines may reach the server without it")
    .option("--token-file <file>", "the bearer token, in a file of mode 0600 (default: the server makes one)")
    .option("--allow-host <host...>", "further values of the Host header to serve: name:port, or name for any port")
    .option("--allow-origin <origin...>", "origins of web pages that may call, such as https://app.example")
    .option("--push-target <host:port...>", "where notifications may be posted although it is not public or not https")
    .option("--require-extension", "refuse clients that do not know the development-tool extension")
    .addOption(
      new Option(
        "--approval-mode <mode>",
        "how far agents may go without asking (default: ask before every change)",
      ).choices(["default", "plan", "auto-edit", "yolo"]),
    )
    .option("--config <file>", "the operator's settings (default: config.toml in the data directory)")
    .addOption(
      new Option(
        "--profile <kit>",
        "serve the agent that this kit tests A2A with, in place of the coding agent",
      ).choices([...PROFILES]),
    )
    .option("--anonymous", "let in callers without credentials; only with --profile, only on loopback")
    .option("--rotate-token", "make another token; the one of the last start counts no longer")
    .option("--json", "print one line of JSON when ready")
    .action(async (options) => done(await (await import("./command/serve.ts")).serve(options, io)));
}

function addRun(program: Command, io: Io, done: Done): void {
  connected(program.command("run <prompt>"))
    .description("Give an agent one job and follow it to its end")
    .addOption(
      new Option("--approve <how>", "how to answer what the agent asks").choices([...APPROVALS]).default("ask"),
    )
    .option("--approve-without-sandbox", WITHOUT_SANDBOX)
    .option("--workspace <dir>", "where the agent works (default: this directory; with --url or --task the server's)")
    .option("--task <id>", "continue this task")
    .option("--json", "print each event as a line of JSON")
    .addHelpText("after", EXIT_CODES)
    .action(async (prompt, options) => done(await (await import("./command/run.ts")).run(prompt, options, io)));
}

function addChat(program: Command, io: Io, done: Done): void {
  connected(program.command("chat"))
    .description("Talk with an agent")
    .addOption(
      new Option("--approve <how>", "how to answer what the agent asks").choices([...APPROVALS]).default("ask"),
    )
    .option("--approve-without-sandbox", WITHOUT_SANDBOX)
    .option("--workspace <dir>", "where the agent works (default: the server's)")
    .option("--task <id>", "continue this task")
    .action(async (options) => done(await (await import("./command/chat.ts")).chat(options, io)));
}

function addWatch(program: Command, io: Io, done: Done): void {
  connected(program.command("watch <task>"))
    .description("Follow a task from its beginning")
    .option("--json", "print each event as a line of JSON")
    .action(async (task, options) => done(await (await import("./command/watch.ts")).watch(task, options, io)));
}

function addTasks(program: Command, io: Io, done: Done): void {
  connected(program.command("tasks"))
    .description("List tasks, the latest first")
    .option("--json", "print each task as a line of JSON")
    .action(async (options) => done(await (await import("./command/tasks.ts")).tasks(options, io)));
}

function addCancel(program: Command, io: Io, done: Done): void {
  connected(program.command("cancel <task>"))
    .description("Cancel a task")
    .action(async (task, options) => done(await (await import("./command/tasks.ts")).cancel(task, options, io)));
}

function addCommands(program: Command, io: Io, done: Done): void {
  connected(program.command("commands"))
    .description("List the slash commands")
    .action(async (options) => done(await (await import("./command/slash-commands.ts")).commands(options, io)));
}

function addExec(program: Command, io: Io, done: Done): void {
  connected(program.command("exec <command> [args...]"))
    .description("Run a slash command, for instance: devtool exec /shell ls -la (options come before it)")
    .passThroughOptions()
    .addOption(
      new Option("--approve <how>", "how to answer what the command asks").choices([...APPROVALS]).default("ask"),
    )
    .option("--approve-without-sandbox", WITHOUT_SANDBOX)
    .option("--json", "print each event as a line of JSON")
    .addHelpText("after", EXIT_CODES)
    .action(async (command, args, options) =>
      done(await (await import("./command/slash-commands.ts")).exec([command, ...args], options, io)),
    );
}

function addDoctor(program: Command, io: Io, done: Done): void {
  program
    .command("doctor")
    .description("Check that this machine can run a server")
    .option("--data <dir>", "the data directory to check")
    .action(async (options) => done(await (await import("./command/doctor.ts")).doctor(options, io)));
}

function addConformance(program: Command, io: Io, done: Done): void {
  program
    .command("conformance [url]")
    .description("Test any server of A2A 0.3 or 1.0, with or without the extension, or a program in any language")
    .addOption(
      new Option("--program <file>", "test the program that this binding.json names").conflicts([
        "push",
        "token",
        "data",
        "a2a",
        "binding",
        "prompts",
        "only",
      ]),
    )
    .option("--push <host:port>", "receive notifications there, and test them too; the server must be allowed to post")
    .option("--token <token>", "the bearer token")
    .option("--data <dir>", "where the discovery file of the server is")
    .addOption(
      new Option("--a2a <version>", "the version of A2A to speak (default: the first of its card)").choices([
        "0.3",
        "1.0",
      ]),
    )
    .addOption(
      new Option("--binding <name>", "the binding to speak (default: the first of its card)").choices([
        "JSONRPC",
        "HTTP+JSON",
        "GRPC",
      ]),
    )
    .option("--prompts <file>", "JSON: the prompt for each behaviour that the cases need (default: for our own agent)")
    .option("--only <prefix>", "play only the cases whose ids begin so, for instance a2a/")
    .option("--known-failing <file>", "JSON: the cases that may fail, and why; one that passes is an error")
    .option("--report-html <file>", "write a page to read")
    .option("--report-junit <file>", "write JUnit XML")
    .option("--report-json <file>", "write the report as JSON")
    .option("--json", "print each result as a line of JSON")
    .action(async (url, options) =>
      done(await (await import("./command/conformance.ts")).conformance(url, options, io)),
    );
}

const JOB_LOG = "the log that devtool run named, in place of a server's";

function addAudit(program: Command, io: Io, done: Done): void {
  const audit = program.command("audit").description("Read the log of why each tool call ran, or did not");
  connected(audit.command("verify"))
    .description("Check that no record was changed, moved or cut out")
    .option("--head <hash>", "a hash that an earlier check printed: it must still be there")
    .option("--log <file>", JOB_LOG)
    .action(async (options) => done(await (await import("./command/audit.ts")).verify(options, io)));
  connected(audit.command("export"))
    .description("Print each record as a line of JSON")
    .option("--log <file>", JOB_LOG)
    .action(async (options) => done(await (await import("./command/audit.ts")).exportAudit(options, io)));
}

function addTrust(program: Command, io: Io, done: Done): void {
  const trust = program.command("trust").description("Say whose configuration agents may use");
  const load = () => import("./command/trust.ts");
  const data = "where the grants are kept (default: $DEVTOOL_DATA or ~/.devtool)";
  trust
    .command("add [dir]")
    .description("Show a directory's configuration and trust it")
    .option("--data <dir>", data)
    .option("--yes", "trust without asking")
    .action(async (dir = ".", options) => done(await (await load()).trustAdd(dir, options, io)));
  trust
    .command("list")
    .description("List what is trusted")
    .option("--data <dir>", data)
    .action(async (options) => done(await (await load()).trustList(options, io)));
  trust
    .command("remove [dir]")
    .description("Take trust away")
    .option("--data <dir>", data)
    .action(async (dir = ".", options) => done(await (await load()).trustRemove(dir, options, io)));
}

function addPush(program: Command, io: Io, done: Done): void {
  const push = program.command("push").description("Take what a server posts");
  connected(push.command("listen"))
    .description("Print the notifications that come to a port of this machine, once they are verified")
    .option(
      "--port <number>",
      "the port, which the server must allow (serve --push-target 127.0.0.1:8088); 0 takes a free one",
      "8088",
    )
    .option("--task <id>", "ask the server to post this task's events here")
    .option("--json", "print each event as a line of JSON")
    .action(async (options) => done(await (await import("./command/push.ts")).pushListen(options, io)));
}

function connected(command: Command): Command {
  return command
    .option("--url <url>", "the server (default: the one that the data directory tells of)")
    .option("--token <token>", "its bearer token (default: $DEVTOOL_TOKEN, or the data directory's)")
    .option("--data <dir>", "where the discovery file of the server is (default: $DEVTOOL_DATA or ~/.devtool)")
    .addOption(new Option("--protocol <name>", "how to talk").choices(["connect", "grpc", "a2a"]).default("connect"));
}
