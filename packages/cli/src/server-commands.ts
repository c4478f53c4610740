import { type Command, Option } from "commander";
import { AGENT_PROGRAMS } from "./agents/known-programs.ts";
import {
  approvalModeOption,
  type CommandSet,
  DATA_DIRECTORY,
  type Done,
  JSON_EVENTS,
  withConnection,
} from "./command-options.ts";
import type { Io } from "./io.ts";
import { PROFILES } from "./tck/profile.ts";

const JOB_LOG =
  "read this log file, as named by `devtool run`, instead of a server's";

/** The help of `--config`. */
const CONFIG_FILE =
  "configuration file (default: config.toml in the data directory)";

const CHANGE_CONFIG =
  '\nTo change a setting, edit the file that "devtool config path" prints.';

/** The commands with which an operator runs a server. */
export const SERVER_COMMANDS: readonly CommandSet[] = [
  { names: ["init"], add: addInit },
  { names: ["login", "logout"], add: addLogin },
  { names: ["config"], add: addConfig },
  { names: ["serve"], add: addServe },
  { names: ["console", "pair"], add: addConsole },
  { names: ["trust"], add: addTrust },
  { names: ["approvals"], add: addApprovals },
  { names: ["policy"], add: addPolicy },
  { names: ["keys"], add: addKeys },
  { names: ["audit"], add: addAudit },
  { names: ["store"], add: addStore },
  { names: ["backup"], add: addBackup },
  { names: ["restore"], add: addRestore },
  { names: ["push"], add: addPush },
  { names: ["doctor"], add: addDoctor },
];

function addInit(program: Command, io: Io, done: Done): void {
  program
    .command("init")
    .description(
      "Choose a model or an agent that this machine has, write config.toml, and try it with one small task",
    )
    .option(
      "--model <name>",
      "model to configure, for example gemini: or openai:qwen3:8b",
    )
    .option(
      "--base-url <url>",
      "with --model: base URL of its API, for example http://127.0.0.1:11434/v1",
    )
    .addOption(
      new Option(
        "--agent <name>",
        `agent to configure: ${AGENT_PROGRAMS.map(({ name }) => name).join(", ")}`,
      ).conflicts(["model", "baseUrl"]),
    )
    .option("--overwrite", "replace the configuration that there is")
    .option("--no-try", "write the configuration only")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (options) =>
      done(await (await import("./command/init.ts")).init(options, io)),
    );
}

function addLogin(program: Command, io: Io, done: Done): void {
  program
    .command("login [api]")
    .description(
      "Keep the key of a model's API (gemini, openai, anthropic) in the data directory; asks for it, or reads standard input",
    )
    .option("--no-check", "do not ask the API whether it takes the key")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (api, options) =>
      done(await (await import("./command/login.ts")).login(api, options, io)),
    );
  program
    .command("logout <api>")
    .description("Remove the key of a model's API that login keeps")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (api, options) =>
      done(await (await import("./command/login.ts")).logout(api, options, io)),
    );
}

function addConfig(program: Command, io: Io, done: Done): void {
  const withFile = (command: Command): Command =>
    command
      .option("--config <file>", CONFIG_FILE)
      .option("--data <dir>", DATA_DIRECTORY);
  const load = () => import("./command/config.ts");
  const config = withFile(program.command("config").enablePositionalOptions())
    .description(
      "Show the settings with which a server starts here without flags, and what sets each; no secrets",
    )
    .addHelpText("after", CHANGE_CONFIG)
    .showHelpAfterError(CHANGE_CONFIG.trim())
    .action(async (options) =>
      done(await (await load()).showConfig(options, io)),
    );
  withFile(config.command("path"))
    .description("Print the path of the config file")
    .action(async (_options, command) =>
      done((await load()).configPath(command.optsWithGlobals(), io)),
    );
  withFile(config.command("check"))
    .description(
      "Check the config file, and what a server reads by it before it opens its store and its port: tokens, keys, rules, agents (modules run), workflows",
    )
    .action(async (_options, command) =>
      done(await (await load()).checkConfig(command.optsWithGlobals(), io)),
    );
}

function addServe(program: Command, io: Io, done: Done): void {
  const command = program
    .command("serve")
    .description("Start a server for a coding agent, or for agents of your own")
    .action(async (options) =>
      done(await (await import("./command/serve.ts")).serve(options, io)),
    );
  addAgentOptions(command);
  addListenOptions(command);
  command
    .optionsGroup("Testing:")
    .addOption(
      new Option(
        "--profile <kit>",
        "serve the test agent that an A2A test kit expects",
      ).choices([...PROFILES]),
    )
    .option(
      "--anonymous",
      "accept callers without credentials; only with --profile, only on loopback",
    )
    .optionsGroup("Output:")
    .addOption(
      new Option(
        "--log-level <level>",
        "least important lines of the log on standard error (default: info)",
      ).choices(["debug", "info", "warn", "error"]),
    )
    .option("--json", "print one line of JSON when the server is ready");
}

/** Adds the options of `serve` for its agents, and where their work is kept. */
function addAgentOptions(command: Command): void {
  command
    .optionsGroup("Agent:")
    .option(
      "--workspace <dir>",
      "directory the agent works in; made if its parent exists (default: current directory)",
    )
    .option(
      "--root <dir...>",
      "more directories that clients may choose as workspace",
    )
    .addOption(
      new Option(
        "--agent <[name=]agent>",
        `agent to serve; repeatable, and clients get the first by default. One of ${AGENT_PROGRAMS.map(({ name }) => name).join(", ")} or devtool, the coding agent; acp:COMMAND for another program that speaks the Agent Client Protocol; or a module that exports "agent". It runs with your rights (default: devtool)`,
      )
        .argParser((value: string, others: readonly string[] = []) => [
          ...others,
          value,
        ])
        .conflicts("profile"),
    )
    .option(
      "--model <name>",
      "model to use, for example openai:gpt-5.5 or anthropic:claude-sonnet-5-5",
    )
    .addOption(approvalModeOption("actions the agent may take without asking"))
    .option(
      "--store <url>",
      "keep tasks in this database, which servers share (postgres://user@host/database), or in the store of a module (module:PATH)",
    )
    .option("--config <file>", CONFIG_FILE)
    .option("--data <dir>", DATA_DIRECTORY);
}

/** Adds the options of `serve` for the network and for access. */
function addListenOptions(command: Command): void {
  command
    .optionsGroup("Network:")
    .option("--host <address>", "address to listen on (default: 127.0.0.1)")
    .option(
      "--port <number>",
      "port to listen on; 0 for any free port (default: 41242)",
    )
    .option(
      "--public-url <url>",
      "URL that clients use, such as a proxy's (default: the listening address)",
    )
    .option(
      "--tls-ended-by-proxy",
      "a proxy terminates TLS: allow other machines without TLS here",
    )
    .option(
      "--require-extension",
      "reject clients that do not support the development-tool extension",
    )
    .option(
      "--grpc-in-card",
      "list A2A over gRPC in the public agent card, which Google's ADK refuses",
    )
    .option(
      "--push-target <host:port...>",
      "allow webhooks at this address although it is not public or not HTTPS",
    )
    .optionsGroup("Access:")
    .option("--no-console", "do not serve the console, a web page at /console")
    .option(
      "--token-file <file>",
      "read the bearer token from a file of mode 0600 (default: generated)",
    )
    .option(
      "--rotate-token",
      "generate a new token; the previous one stops working",
    )
    .option(
      "--allow-host <host...>",
      "more accepted values of the Host header: name:port, or name for any port",
    )
    .option(
      "--allow-origin <origin...>",
      "accepted origins of web pages, such as https://app.example",
    );
}

function addConsole(program: Command, io: Io, done: Done): void {
  program
    .command("console")
    .description(
      "Open the console in a web browser: all sessions of the server, and the questions that wait for you",
    )
    .option("--url <url>", "server URL (default: the running server)")
    .option(
      "--token <token>",
      "bearer token (default: $DEVTOOL_TOKEN, or the running server's)",
    )
    .option("--data <dir>", DATA_DIRECTORY)
    .option("--label <text>", "name of this browser in --list")
    .option("--no-open", "print the address only")
    .option("--list", "list the browsers with access")
    .addOption(
      new Option(
        "--revoke <id>",
        "revoke the access of a browser, by its id in --list",
      ).conflicts(["list"]),
    )
    .action(async (options) =>
      done(
        await (await import("./command/console.ts")).openConsole(options, io),
      ),
    );
  program
    .command("pair")
    .description(
      "Give a phone access to the console, with a code that is typed or scanned once",
    )
    .option("--url <url>", "server URL (default: the running server)")
    .option(
      "--token <token>",
      "bearer token (default: $DEVTOOL_TOKEN, or the running server's)",
    )
    .option("--data <dir>", DATA_DIRECTORY)
    .option("--label <text>", "name of the phone in console --list")
    .action(async (options) =>
      done(await (await import("./command/console.ts")).pair(options, io)),
    );
}

function addTrust(program: Command, io: Io, done: Done): void {
  const trust = program
    .command("trust")
    .description("Manage the directories whose configuration agents may use");
  trust
    .command("add [dir]")
    .description(
      "Show a directory's configuration and trust it (default: current directory)",
    )
    .option("--data <dir>", DATA_DIRECTORY)
    .option("-y, --yes", "do not ask for confirmation")
    .action(async (dir = ".", options) =>
      done(
        await (await import("./command/trust.ts")).trustAdd(dir, options, io),
      ),
    );
  trust
    .command("list")
    .description("List trusted directories")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (options) =>
      done(await (await import("./command/trust.ts")).trustList(options, io)),
    );
  trust
    .command("remove [dir]")
    .description("Stop trusting a directory (default: current directory)")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (dir = ".", options) =>
      done(
        await (await import("./command/trust.ts")).trustRemove(
          dir,
          options,
          io,
        ),
      ),
    );
}

function addApprovals(program: Command, io: Io, done: Done): void {
  const approvals = program
    .command("approvals")
    .description("List and remove saved approvals");
  withStore(approvals.command("list"))
    .description("List saved approvals with their ids, oldest first")
    .action(async (options) =>
      done(
        await (await import("./command/approvals.ts")).approvalsList(
          options,
          io,
        ),
      ),
    );
  withStore(approvals.command("remove <id>"))
    .description(
      "Remove a saved approval: such calls ask again, on all servers that share it",
    )
    .action(async (id, options) =>
      done(
        await (await import("./command/approvals.ts")).approvalsRemove(
          id,
          options,
          io,
        ),
      ),
    );
}

function addPolicy(program: Command, io: Io, done: Done): void {
  const policy = program
    .command("policy")
    .description("See what the policy decides, and why");
  withStore(policy.command("explain"))
    .description(
      "Say which rule decides a tool call for whom, before it happens; needs no server",
    )
    .requiredOption("--tool <name>", "tool, for example run_shell_command")
    .option(
      "--arguments <json>",
      `arguments of the call, for example '{"command":"git push"}'`,
      "{}",
    )
    .option(
      "--principal <id>",
      "who sends the message (default: local, the operator)",
    )
    .option("--role <role...>", "roles of the sender")
    .option("--agent <name>", "agent that makes the call (default: devtool)")
    .option(
      "--workspace <dir>",
      "directory the agent works in (default: current directory)",
    )
    .addOption(
      approvalModeOption("approval mode (default: that of the configuration)"),
    )
    .option("--json", "print the explanation as JSON")
    .action(async (options) =>
      done(
        await (await import("./command/policy.ts")).policyExplain(options, io),
      ),
    );
}

function addKeys(program: Command, io: Io, done: Done): void {
  const keys = program
    .command("keys")
    .description("The keys that sign agent cards and notifications");
  withStore(keys.command("list"))
    .description("List the published keys, oldest first")
    .action(async (options) =>
      done(await (await import("./command/keys.ts")).keysList(options, io)),
    );
  withStore(keys.command("rotate"))
    .description(
      "Make the next key now: it signs after a day, on all servers that share it",
    )
    .action(async (options) =>
      done(await (await import("./command/keys.ts")).keysRotate(options, io)),
    );
  withStore(keys.command("revoke <id>"))
    .description(
      "Remove a key that was stolen: servers that share it stop using and publishing it within a minute",
    )
    .action(async (id, options) =>
      done(
        await (await import("./command/keys.ts")).keysRevoke(id, options, io),
      ),
    );
}

/** Adds the options that name the store of a server. */
function withStore(command: Command): Command {
  return command
    .option(
      "--store <url>",
      "the database or module that servers share (default: that of the configuration file, if any)",
    )
    .option("--config <file>", CONFIG_FILE)
    .option("--data <dir>", DATA_DIRECTORY);
}

function addAudit(program: Command, io: Io, done: Done): void {
  const audit = program
    .command("audit")
    .description("Verify, show or export the audit log of tool calls");
  withConnection(audit.command("verify"))
    .description("Verify that no record was changed, moved or removed")
    .option(
      "--head <hash>",
      "hash printed by an earlier check, which must still be in the log",
    )
    .option(
      "--keys <file...>",
      "public keys (JWKS) of the server that you kept: each deletion after --head must be signed with one",
    )
    .option("--log <file>", JOB_LOG)
    .action(async (options) =>
      done(await (await import("./command/audit.ts")).verify(options, io)),
    );
  withConnection(audit.command("show <task>"))
    .description(
      "Print what was decided and done in a task, and in the tasks that its agents gave to others",
    )
    .option("--log <file>", JOB_LOG)
    .action(async (task, options) =>
      done(
        await (await import("./command/audit.ts")).showAudit(task, options, io),
      ),
    );
  withConnection(audit.command("export"))
    .description("Print each record as a line of JSON")
    .option("--log <file>", JOB_LOG)
    .action(async (options) =>
      done(await (await import("./command/audit.ts")).exportAudit(options, io)),
    );
}

function addStore(program: Command, io: Io, done: Done): void {
  program
    .command("store")
    .description("Copy tasks between stores")
    .command("copy <from> <to>")
    .description(
      "Copy all tasks, approvals and the audit log into an empty store, and verify the copy; a store is a data directory, a postgres:// URL or module:PATH",
    )
    .option(
      "--data <dir>",
      "data directory of a module's store (default: that of serve)",
    )
    .option("--schema <name>", "schema of the database (default: devtool)")
    .action(async (from, to, options) =>
      done(
        await (await import("./command/store.ts")).copy(from, to, options, io),
      ),
    );
}

function addBackup(program: Command, io: Io, done: Done): void {
  withConnection(program.command("backup <file>"))
    .description(
      "Back up tasks, audit log and configuration into a new file, while the server runs",
    )
    .action(async (file, options) =>
      done(
        await (await import("./command/backup.ts")).backup(file, options, io),
      ),
    );
}

function addRestore(program: Command, io: Io, done: Done): void {
  program
    .command("restore <file>")
    .description("Restore a backup into an empty data directory")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (file, options) =>
      done(
        await (await import("./command/backup.ts")).restore(file, options, io),
      ),
    );
}

function addPush(program: Command, io: Io, done: Done): void {
  const push = program
    .command("push")
    .description("Receive push notifications");
  withConnection(push.command("listen"))
    .description(
      "Listen on loopback, verify the notifications that arrive, and print them",
    )
    .option(
      "--port <number>",
      "port to listen on, which the server must allow (serve --push-target 127.0.0.1:8088); 0 for any free port",
      "8088",
    )
    .option("--task <id>", "subscribe to this task's events while listening")
    .option("--json", JSON_EVENTS)
    .action(async (options) =>
      done(await (await import("./command/push.ts")).pushListen(options, io)),
    );
}

function addDoctor(program: Command, io: Io, done: Done): void {
  program
    .command("doctor")
    .description("Check that this machine can run a server")
    .option(
      "--fix",
      "mend what can be mended safely; without it, what that would do is listed",
    )
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (options) =>
      done(await (await import("./command/doctor.ts")).doctor(options, io)),
    );
}
