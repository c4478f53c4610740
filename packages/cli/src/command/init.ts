import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { shownUrl } from "@devtool/internal/shown-url";
import { ModelConfigSchema } from "@devtool/schema/operator";
import { knownAgents } from "../agents/installed-agents.ts";
import { readConfig } from "../config.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { chooseModel, describeChoice } from "../model.ts";
import { readModelKeys, withModelKeys } from "../model-keys.ts";
import { ownCommand } from "../own-command.ts";
import { assertPrivateDirectory, writePrivateFile } from "../private-file.ts";
import { createQuestioner, describeWithoutText } from "../prompter.ts";
import { visibleName } from "../render/style.ts";
import { run } from "./run.ts";

/** The options of `devtool init`. */
interface InitOptions {
  readonly data?: string;
  /** The model to configure, as in `devtool serve --model`. */
  readonly model?: string;
  /** Base URL of the model's API, such as that of a local server. */
  readonly baseUrl?: string;
  /** The agent to configure, as in `devtool serve --agent`. */
  readonly agent?: string;
  /** Whether to replace a configuration without asking. */
  readonly overwrite?: true;
  /** Whether to try the configuration with a task. */
  readonly try: boolean;
}

/** Something that can answer, and how it is configured. */
interface Choice {
  /** What it is, in words. */
  readonly title: string;
  /** The flag that chooses it. */
  readonly flag: string;
  /** The lines of `config.toml` that configure it. */
  readonly lines: readonly string[];
}

/**
 * `devtool init`: finds out which models and agents can answer, lets the user
 * choose, writes `config.toml` and tries it with one small task.
 *
 * Without a terminal, flags choose, or the only one that was found. Throws a
 * `UsageError` that lists the flags when several were found.
 */
export async function init(options: InitOptions, io: Io): Promise<number> {
  const data = resolve(options.data ?? defaultDataDirectory(io.env));
  await assertPrivateDirectory(data);
  const path = join(data, "config.toml");
  const env = withModelKeys(await readModelKeys(data), io.env);
  const choice = await choose(options, { ...io, env });
  if (choice === undefined || !(await mayWrite(path, options, io))) {
    writeLine(io.stderr, "nothing was written");
    return ExitCode.CANCELED;
  }
  await writePrivateFile(path, configText(choice));
  await readConfig(path, data, io.env);
  writeLine(io.stdout, `\nwrote ${visibleName(path)} for ${choice.title}`);
  if (options.try && !(await works(data, io))) {
    const again = `${ownCommand(io.env)} init`;
    writeLine(
      io.stderr,
      `the task failed, for the reason above: mend it, and run "${again}" again`,
    );
    return ExitCode.FAILED;
  }
  writeLine(io.stdout, nextStep(data, io));
  return ExitCode.OK;
}

/**
 * Returns what the flags choose, or else the user among what was found;
 * undefined when the user chooses nothing.
 */
async function choose(
  options: InitOptions,
  io: Io,
): Promise<Choice | undefined> {
  if (options.agent !== undefined) return agentChoice(options.agent, io);
  if (options.model !== undefined) {
    return modelChoice(options.model, options.baseUrl, io.env);
  }
  if (options.baseUrl !== undefined) {
    throw new UsageError(
      "--base-url needs the name of a model there: --model openai:NAME",
    );
  }
  const found = await foundChoices(io);
  if (io.interactive) return askFor([...found, SCRIPTED], io);
  const [only = SCRIPTED, ...others] = found;
  if (others.length === 0) return only;
  const flags = found.map(({ flag, title }) => `\n  ${flag}   ${title}`);
  throw new UsageError(
    `several can answer, and nobody can be asked: choose one${flags.join("")}`,
  );
}

/** The choice when there is neither a key nor an agent. */
const SCRIPTED: Choice = {
  title: "the scripted agent, which needs no key",
  flag: "",
  lines: [
    '# No model is configured: prompts are played as scripts. With a key ("devtool',
    '# login", or GEMINI_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY in the',
    "# environment), that model answers. To choose one, or a server with OpenAI's",
    "# API such as Ollama's:",
    "# [model]",
    '# name = "openai:qwen3:8b"',
    '# base_url = "http://127.0.0.1:11434/v1"',
  ],
};

/**
 * The task that tries a configuration: two steps for the scripted agent, and
 * clear enough for a model.
 */
const TASK = "write hello.txt Hello\ntext The file hello.txt says Hello.";

/** Finds the APIs with a key in the environment, and the agents in PATH. */
async function foundChoices({ env }: Io): Promise<Choice[]> {
  const first = chooseModel(undefined, env, undefined);
  const apis = first ? [first.api, ...first.others] : [];
  const agents = await knownAgents({ env, workspaces: [process.cwd()] });
  return [
    ...apis.map((api) => modelChoice(`${api}:`, undefined, env)),
    ...agents.flatMap(({ profile, found }) =>
      found ? [agentOf(profile.name, profile.title, found.version)] : [],
    ),
  ];
}

/** Throws for a model without a key, and for a URL that holds a password. */
function modelChoice(
  name: string,
  baseUrl: string | undefined,
  env: Io["env"],
): Choice {
  const url = baseUrl === undefined ? undefined : URL.parse(baseUrl);
  if (url === null || (url && !/^https?:$/.test(url.protocol))) {
    throw new UsageError(
      `--base-url "${shownUrl(baseUrl ?? "")}" is not a URL: write it like http://127.0.0.1:11434/v1`,
    );
  }
  if (url?.password || url?.username || url?.search) {
    throw new UsageError(
      "--base-url has credentials, and the file keeps none: set them in the environment (OPENAI_BASE_URL, OPENAI_API_KEY)",
    );
  }
  const config = create(ModelConfigSchema, { name, baseUrl: baseUrl ?? "" });
  const choice = chooseModel(config, env, name);
  if (!choice) throw new UsageError(`--model "${name}" is not a model`);
  const { api, model, host } = choice;
  return {
    title: describeChoice({ ...choice, others: [] }),
    flag: `--model ${api}:`,
    lines: [
      `# The model that answers${host === "" ? "" : `, at ${host}`}. This file has no key.`,
      "[model]",
      `name = ${JSON.stringify(name.endsWith(":") ? `${name}${model.name}` : name)}`,
      ...(baseUrl === undefined
        ? []
        : [`base_url = ${JSON.stringify(baseUrl)}`]),
    ],
  };
}

/** Throws for an agent that is not known or not installed. */
async function agentChoice(name: string, { env }: Io): Promise<Choice> {
  const known = await knownAgents({ env, workspaces: [process.cwd()] });
  const agent = known.find(({ profile }) => profile.name === name);
  if (!agent) {
    const names = known.map(({ profile }) => profile.name).join(", ");
    throw new UsageError(`--agent "${name}" is not known: choose ${names}`);
  }
  const { profile, found, unused } = agent;
  if (!found) {
    const problem = unused ?? `it is not installed: ${profile.install}`;
    throw new UsageError(`--agent "${name}" cannot be used: ${problem}`);
  }
  return agentOf(name, profile.title, found.version);
}

function agentOf(name: string, title: string, version: string): Choice {
  return {
    title: [title, version].filter(Boolean).join(" "),
    flag: `--agent ${name}`,
    lines: [
      "# The agents, the default first. A program keeps the login that it has.",
      "[[agents]]",
      `module = ${JSON.stringify(name)}`,
      "",
      "# Devtool's own agent, for clients that choose it by its name:",
      "# [[agents]]",
      '# module = "devtool"',
    ],
  };
}

/** Asks the user which one answers; undefined when the user leaves. */
async function askFor(
  choices: readonly Choice[],
  io: Io,
): Promise<Choice | undefined> {
  writeLine(io.stdout, "Here, these can answer:\n");
  for (const [index, { title }] of choices.entries()) {
    writeLine(io.stdout, `  ${index + 1}  ${visibleName(title)}`);
  }
  writeLine(
    io.stdout,
    `\nA key is found in the environment, or after "${ownCommand(io.env)} login"; an agent in PATH.`,
  );
  for (;;) {
    const answer = await ask(`Which one? [1-${choices.length}] > `, io);
    if (answer === undefined) return undefined;
    const choice = choices[Number(answer || "1") - 1];
    if (choice) return choice;
    writeLine(
      io.stdout,
      `"${visibleName(answer)}" is not in the list: type a number from 1 to ${choices.length}`,
    );
  }
}

/** Whether the file is new, or its user wants it to be replaced. */
async function mayWrite(
  path: string,
  { overwrite }: InitOptions,
  io: Io,
): Promise<boolean> {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  if (!exists || overwrite) return true;
  const place = visibleName(path);
  if (!io.interactive) {
    throw new UsageError(
      `config file "${place}" exists: look at it, and replace it with --overwrite`,
    );
  }
  const answer = await ask(`${place} exists. Replace it? [y/N] > `, io);
  return answer === "y" || answer === "yes";
}

async function ask(prompt: string, io: Io): Promise<string | undefined> {
  using interrupt = interruptSignal(io);
  const question = { prompt, takesWords: false };
  const questioner = createQuestioner(io, describeWithoutText);
  const answer = await questioner.ask(question, interrupt.signal);
  return answer?.text.trim();
}

function configText({ lines }: Choice): string {
  return `# Configuration of devtool's server, by "devtool init". All fields are in
# docs/configuration.md. Keys of models are not in it.

# What agents may do without asking: "default" (they ask before every change),
# "plan" (they only read), "auto_edit" or "yolo".
approval_mode = "default"

${lines.join("\n")}
`;
}

/**
 * Gives the configured agent one small task, in a directory that is removed.
 * Returns whether the file that it was to write is there.
 */
async function works(data: string, io: Io): Promise<boolean> {
  const workspace = await mkdtemp(join(tmpdir(), "devtool-init-"));
  try {
    writeLine(io.stdout, "trying it with one small task:\n");
    const job = { data, workspace, approve: "all" };
    const exitCode = await run(TASK, job, io);
    const text = await readFile(join(workspace, "hello.txt"), "utf8").catch(
      () => "",
    );
    return exitCode === ExitCode.OK && text.trim() === "Hello";
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

function nextStep(data: string, { env }: Io): string {
  const command = ownCommand(env);
  const isDefault = data === resolve(defaultDataDirectory(env));
  const at = isDefault ? "" : ` --data ${visibleName(data)}`;
  return `
Next, serve a project of yours, and talk to the agent in a second terminal:

  ${command} serve${at} --workspace ~/my-project
  ${command} chat${at}`;
}
