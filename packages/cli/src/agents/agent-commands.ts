import { type Command, Option } from "commander";
import {
  type CommandSet,
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
} from "../command-options.ts";
import type { Io } from "../io.ts";
import { addMcpServerCommands } from "../mcp/mcp-server-commands.ts";
import { ENDED_STATES, TASK_STATES } from "../task-states.ts";

const TASK_ID = "id of the task, or its first 4 or more characters";
const TITLE = "the new title: one line of at most 80 characters";

/** The commands with which a user works with an agent. */
export const AGENT_COMMANDS: readonly CommandSet[] = [
  { names: ["run"], add: addRun },
  { names: ["chat"], add: addChat },
  { names: ["acp"], add: addAcp },
  { names: ["mcp"], add: addMcp },
  { names: ["ide"], add: addIde },
  { names: ["exec", "commands"], add: addSlashCommands },
  { names: ["tasks", "watch", "rename", "cancel"], add: addTasks },
  { names: ["workflow"], add: addWorkflow },
  { names: ["agents"], add: addAgents },
  { names: ["models"], add: addModels },
  { names: ["top"], add: addTop },
];

function addIde(program: Command, io: Io, done: Done): void {
  const ide = program
    .command("ide")
    .description("Agents in a terminal, and the editors beside them");
  ide
    .command("serve")
    .description(
      "Run as the companion of an editor that starts this as a child process, over standard input and output",
    )
    .action(async () =>
      done(await (await import("../command/ide-serve.ts")).ideServe(io)),
    );
  ide
    .command("doctor")
    .description(
      "Say which editor's companion each agent would find from here, and why no other one",
    )
    .option(
      "--workspace <dir>",
      "directory the agent is started in (default: current directory)",
    )
    .action(async (options) =>
      done(
        await (await import("../command/ide-doctor.ts")).ideDoctor(options, io),
      ),
    );
}

function addRun(program: Command, io: Io, done: Done): void {
  withConnection(
    withApproval(withFork(withSession(program.command("run [prompt]")))),
  )
    .description(
      'Give an agent a task and follow it until it ends; without a prompt, or with "-", read it from standard input',
    )
    .option("--prompt-file <file>", "read the prompt from a file")
    .option(
      "--goal <text>",
      "like a prompt, but the agent goes on, turn after turn, until each --check passes",
    )
    .option(
      "--check <command...>",
      "with --goal: shell command that ends with exit code 0 once it is achieved",
    )
    .option("--max-turns <n>", "with --goal: turns until it ends (default: 20)")
    .option(
      "--max-cost <amount>",
      "with --goal: cost of all turns until it ends, by the server's prices",
    )
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
      done(await (await import("../command/run.ts")).run(prompt, options, io)),
    );
}

/** The options that leave the continued conversation as it is. */
function withFork(command: Command): Command {
  return command
    .option(
      "--fork",
      "go on in a new conversation, and leave the continued one as it is",
    )
    .addOption(
      new Option(
        "--before <message>",
        "with --fork: go on from before your message with this number (1 is the first) or id",
      ).implies({ fork: true }),
    );
}

function addChat(program: Command, io: Io, done: Done): void {
  withConnection(withApproval(withFork(withSession(program.command("chat")))))
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
      done(await (await import("../command/chat.ts")).chat(options, io)),
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
      done(await (await import("../command/acp.ts")).acp(options, io)),
    );
}

function addMcp(program: Command, io: Io, done: Done): void {
  const mcp = program.command("mcp");
  addMcpServerCommands(mcp, io, done);
  mcp
    .description(
      "Run as an MCP server for a host such as Claude Code, over standard input and output: each agent is a tool",
    )
    .option(
      "--workspace <dir>",
      "directory of tasks that name none (default: the host's; with --url the server's)",
    )
    .option(
      "--agent <name...>",
      "agents that the host may call, on a server with several (default: all)",
    )
    .option(
      "--url <url>",
      "server or A2A agent (default: the running server, or one for this host)",
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
      done(await (await import("../command/mcp.ts")).mcp(options, io)),
    );
}

const ALL_CALLERS =
  "those of all callers, with whose they are (needs the right list_all)";

function addTop(program: Command, io: Io, done: Done): void {
  withConnection(program.command("top"))
    .description(
      "Show your sessions live: which work, what each waits for, and how much happens",
    )
    .option("--all", ALL_CALLERS)
    .option("--once", "print them once (default where there is no terminal)")
    .action(async (options) =>
      done(await (await import("../command/top.ts")).top(options, io)),
    );
}

function addWorkflow(program: Command, io: Io, done: Done): void {
  const workflow = program
    .command("workflow")
    .description("Run workflows: steps that agents do, from files");
  const load = () => import("../command/workflow.ts");
  withConnection(withApproval(workflow.command("run <workflow> [text]")))
    .description(
      "Run a workflow of a file (.yaml, .toml), or one that the server serves, by its name",
    )
    .option(
      "--input <name=value...>",
      "fields for {{input.NAME}} in the workflow",
    )
    .option(
      "--workspace <dir>",
      "directory to work in (default: current directory)",
    )
    .option("--json", JSON_EVENTS)
    .addHelpText("after", EXIT_CODES)
    .action(async (named, text, options) =>
      done(await (await load()).runFlow(named, text, options, io)),
    );
  workflow
    .command("list")
    .description("List the workflows of the config file and of the user")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (options) =>
      done(await (await load()).listFlows(options, io)),
    );
  withConnection(workflow.command("show <workflow>"))
    .description(
      `Check a file and print its steps, or print the tries and totals of a run (${TASK_ID})`,
    )
    .action(async (named, options) =>
      done(await (await load()).showFlow(named, options, io)),
    );
  addRuns(workflow, io, done);
}

/** Adds the commands for a run that there is. */
function addRuns(workflow: Command, io: Io, done: Done): void {
  const load = () => import("../command/workflow.ts");
  withConnection(workflow.command("cancel").argument("<run>", TASK_ID))
    .description("Cancel a run and the tasks of its steps")
    .action(async (run, options) =>
      done(
        await (await import("../command/tasks.ts")).cancel(run, options, io),
      ),
    );
  withConnection(
    withApproval(workflow.command("resume").argument("<run>", TASK_ID)),
  )
    .description("Run again what did not succeed in a run that has ended")
    .option("--json", JSON_EVENTS)
    .addHelpText("after", EXIT_CODES)
    .action(async (run, options) =>
      done(await (await load()).forkFlow(run, options, io)),
    );
  withConnection(
    withApproval(workflow.command("fork").argument("<run>", TASK_ID)),
  )
    .description("Begin a run with the results of another one up to a step")
    .requiredOption("--from <step>", "path of the first step to run again")
    .option("--json", JSON_EVENTS)
    .addHelpText("after", EXIT_CODES)
    .action(async (run, options) =>
      done(await (await load()).forkFlow(run, options, io)),
    );
}

const REGISTRY =
  "registry.json of an ACP registry: a file, or an https URL to fetch it from";

function addAgents(program: Command, io: Io, done: Done): void {
  const agents = program
    .command("agents")
    .description("Agents of the config file, and of an ACP registry");
  const load = () => import("../command/agents.ts");
  agents
    .command("list")
    .description(
      "List the agents of the config file, or those of a registry and how they are added",
    )
    .option("--registry <place>", REGISTRY)
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (options) =>
      done(await (await load()).listAgents(options, io)),
    );
  agents
    .command("add <id>")
    .description(
      "Show what an agent of a registry would run, and write it into config.toml if you agree; runs nothing",
    )
    .requiredOption("--registry <place>", REGISTRY)
    .option("--name <name>", "name to give it (default: its id)")
    .option("--yes", "write it without asking")
    .option("--data <dir>", DATA_DIRECTORY)
    .action(async (id, options) =>
      done(await (await load()).addAgent(id, options, io)),
    );
}

function addModels(program: Command, io: Io, done: Done): void {
  withConnection(program.command("models"))
    .description(
      "List the models that sessions of an agent can choose, with their size",
    )
    .option("--agent <name>", "agent, on a server with several")
    .action(async (options) =>
      done(await (await import("../command/models.ts")).models(options, io)),
    );
}

function addTasks(program: Command, io: Io, done: Done): void {
  // Options after the name of a command below it are those of that command.
  const tasks = withConnection(
    program.command("tasks").enablePositionalOptions(),
  );
  addDeletion(tasks, io, done);
  tasks
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
    .option("--all", ALL_CALLERS)
    .addOption(
      new Option(
        "--limit <number>",
        "list at most this many tasks (default: all)",
      ).argParser(positiveNumber),
    )
    .option("--json", "print each task as a line of JSON")
    .action(async (options) =>
      done(await (await import("../command/tasks.ts")).tasks(options, io)),
    );
  addTaskChanges(program, io, done);
}

/** Adds the commands for one task that are not below `devtool tasks`. */
function addTaskChanges(program: Command, io: Io, done: Done): void {
  const load = () => import("../command/tasks.ts");
  withConnection(program.command("watch").argument("<task>", TASK_ID))
    .description("Follow a task from its first event")
    .option("--json", JSON_EVENTS)
    .action(async (task, options) =>
      done(
        await (await import("../command/watch.ts")).watch(task, options, io),
      ),
    );
  withConnection(
    program
      .command("rename")
      .argument("<task>", TASK_ID)
      .argument("<title>", TITLE),
  )
    .description("Rename a task")
    .action(async (task, title, options) =>
      done(await (await load()).rename(task, title, options, io)),
    );
  withConnection(program.command("cancel").argument("<task>", TASK_ID))
    .description("Cancel a task")
    .action(async (task, options) =>
      done(await (await load()).cancel(task, options, io)),
    );
}

function addDeletion(tasks: Command, io: Io, done: Done): void {
  // Options before the name of the command count as well.
  const load = () => import("../command/delete-tasks.ts");
  withConnection(tasks.command("delete").argument("<task...>", TASK_ID))
    .description("Delete tasks that have ended, for good")
    .option("-y, --yes", "do not ask for confirmation")
    .action(async (named, _options, command) =>
      done(
        await (await load()).deleteTasks(named, command.optsWithGlobals(), io),
      ),
    );
  withConnection(
    tasks
      .command("export")
      .argument("<task>", TASK_ID)
      .argument("[file]", "a new file (default: standard output)"),
  )
    .description("Write the events of a task as lines of JSON")
    .action(async (task, file, _options, command) =>
      done(
        await (await load()).exportTask(
          task,
          file,
          command.optsWithGlobals(),
          io,
        ),
      ),
    );
  withConnection(tasks.command("prune"))
    .description("Delete your tasks that have ended and did not change since")
    .requiredOption(
      "--older-than <age>",
      "hours, days or weeks without a change, such as 12h, 30d or 8w",
    )
    .addOption(
      new Option("--state <state>", "only tasks in this state").choices(
        ENDED_STATES,
      ),
    )
    .option("--dry-run", "print the tasks, and delete nothing")
    .option("-y, --yes", "do not ask for confirmation")
    .action(async (_options, command) =>
      done(await (await load()).prune(command.optsWithGlobals(), io)),
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
    .option(
      "--task <id>",
      `run it in the conversation of a task, as /cost needs: ${TASK_ID}`,
    )
    .option("--json", JSON_EVENTS)
    .addHelpText(
      "after",
      `\nOptions must come before the slash command.\n${EXIT_CODES}`,
    )
    .action(async (command, args, options) =>
      done(
        await (await import("../command/slash-commands.ts")).exec(
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
        await (await import("../command/slash-commands.ts")).commands(
          options,
          io,
        ),
      ),
    );
}
